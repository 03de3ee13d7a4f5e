"""Arrays as NumPy writes them: .npz stored and deflated, Fortran order, all types; what a
run sees of them is what numpy.load gives."""

import json

import numpy as np
import pytest
import torch
from braid_run import run_braid
from job_case import Case
from train_jobs import check_message


def save_npz(folder, data, way):
    arrays = {f"{name}_train": t.numpy() for name, t in data.items()}
    if "fortran" in way:
        arrays = {name: np.asfortranarray(a) for name, a in arrays.items()}
    arrays["more"] = np.array(["not", "used"])  # of a type that no sample has
    save = np.savez_compressed if "packed" in way else np.savez
    save(folder / "data.npz", **arrays)
    names = [f"{name}={name}_train" for name in data]
    return {"source": "npy", "file": "data.npz", "arrays": names}


@pytest.mark.parametrize("way", ["stored", "packed", "fortran", "packed fortran"])
def test_npz_files_train_as_their_arrays(tmp_path, way):
    case = Case(tmp_path, "lenet", dtype="f64", steps=4)
    case.job["data"] = save_npz(tmp_path, case.data, way)
    case.check()


@pytest.mark.parametrize("dtype", ["<f8", ">f4", "<f2"])
def test_fortran_order_of_npy_files(tmp_path, dtype):
    case = Case(tmp_path, "lenet", source="npy", steps=3)
    x = np.asfortranarray(case.data["x"].numpy().astype(dtype))
    assert not x.flags.c_contiguous
    np.save(tmp_path / "x.npy", x)
    assert b"'fortran_order': True" in (tmp_path / "x.npy").read_bytes()[:128]
    case.data["x"] = torch.from_numpy(np.ascontiguousarray(x, dtype=np.float64))
    case.check()


def test_an_array_that_is_not_there_is_named(tmp_path):
    case = Case(tmp_path, "mlp")
    case.job["data"] = save_npz(tmp_path, case.data, "stored")
    job = tmp_path / "job.yaml"
    job.write_text(json.dumps(case.job))
    done = run_braid("validate", job, "data.arrays=[x=x_tran]", code=1)
    check_message(done.stderr, ["expected an array 'x_tran'", "did you mean 'x_train'?"])
    done = run_braid("validate", job, "data.arrays=[x=more]", code=1)
    assert "more in" in done.stderr and "expected a type of" in done.stderr
