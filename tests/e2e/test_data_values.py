"""What samples hold: labels and numbers that cannot be learned from are found
before training, with their file and row; fields go by their names."""

import json

import numpy as np
import pytest
import torch
from braid_run import run_braid
from exporting import export
from job_run import JobRun
from torch import nn
from torch.nn import functional as F
from train_jobs import check_message

ROWS = 37  # which no batch divides


def write_arrays(folder, **arrays):
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", array)


def npy(*names):
    return {"source": "npy", "files": [f"{name.split('_')[0]}={name}.npy" for name in names]}


def write_job(folder, **keys):
    job = {
        "model": "mlp(hidden=4,classes=3)", "data": npy("x", "y"), "epochs": 1,
        "batch_size": 8, "threads": 1, "optimizer": {"kind": "sgd", "lr": 0.01},
    } | keys  # fmt: skip
    path = folder / "job.yaml"
    path.write_text(json.dumps(job))
    return path


@pytest.fixture(name="folder")
def make_folder(tmp_path):
    random = np.random.default_rng(3)
    x = random.normal(size=(ROWS, 5)).astype(np.float32)
    write_arrays(tmp_path, x=x, y=random.integers(3, size=ROWS))
    return tmp_path


def changed(folder, name, row, value, dtype=None):
    array = np.load(folder / f"{name}.npy")
    array = array.astype(dtype or array.dtype)
    array.reshape(ROWS, -1)[row, -1] = value
    np.save(folder / f"{name}.npy", array)


# Which array, the value, what is said of it.
WRONG = {
    "negative label": ("y", -1, None, ["y.npy holds -1, expected 0 to 2 or -100"]),
    "label above, one ignored": ("y", 3, None, ["y.npy holds 3, expected 0 to 2 or -100"]),
    "nan": ("x", np.nan, None, ["x.npy holds nan", "allow_nan"]),
    "infinity": ("x", -np.inf, None, ["x.npy holds -inf", "allow_nan"]),
    "beyond float32": ("x", 1e300, np.float64, ["x.npy holds inf"]),
}


@pytest.mark.parametrize("verb", ["validate", "train"])
@pytest.mark.parametrize("name", WRONG)
def test_values_that_cannot_be_learned_from_are_found(folder, verb, name):
    array, value, dtype, words = WRONG[name]
    changed(folder, "y", 2, -100)  # which is ignored, and hides how many classes there are
    changed(folder, array, 29, value, dtype)
    job = write_job(folder)
    options = [] if verb == "validate" else ["--out", folder / "run"]
    done = run_braid(verb, job, *options, code=1)
    check_message(done.stderr, ["[data]", f"field '{array}': row 29 of", *words])
    assert not (folder / "run").exists()


@pytest.mark.parametrize("name", ["negative label", "nan"])
def test_evaluation_data_are_looked_at_too(folder, name):
    array, value, dtype, words = WRONG[name]
    (folder / "eval").mkdir()
    for part in ("x", "y"):
        np.save(folder / "eval" / f"{part}.npy", np.load(folder / f"{part}.npy"))
    changed(folder / "eval", array, 36, value, dtype)
    job = write_job(folder, eval={"data": {"source": "npy", "folder": "eval"}})
    check_message(run_braid("validate", job, code=1).stderr, ["eval/", "row 36 of", *words])


def test_labels_beyond_a_named_class_count_have_their_row(folder):
    changed(folder, "y", 17, 12)
    done = run_braid("validate", write_job(folder), code=2)
    check_message(done.stderr, ["takes 3 classes", "row 17 of", "y.npy holds 12, expected 0 to 2"])


def test_tokens_above_a_given_vocabulary_are_found(folder):
    tokens = np.arange(400, dtype=np.uint16) % 50
    tokens[333] = 60
    tokens.tofile(folder / "t.bin")
    data = {"source": "tokens", "file": "t.bin", "vocab": 50, "length": 8}
    job = write_job(folder, model="transformer_lm(width=8,heads=1,layers=1)", data=data)
    check_message(run_braid("validate", job, code=1).stderr, ["t.bin", "offset 666", "60"])


def test_numbers_that_are_not_finite_may_be_allowed(folder):
    changed(folder, "x", 29, np.nan)
    data = npy("x", "y")
    job = write_job(folder, data=data | {"allow_nan": True}, on_nan="skip")
    assert "looked at" not in run_braid("validate", job).stdout  # labels are known
    job = write_job(folder, data=data, on_nan="skip", eval={"data": data | {"allow_nan": True}})
    done = run_braid("validate", job)
    assert "not finite, and passed over: field 'x': row 29" in done.stdout
    done = run_braid("train", job, "--out", folder / "run")
    log = (folder / "run" / "log.txt").read_text()
    assert "steps with numbers that are not finite will be skipped: field 'x': row 29" in log
    job = write_job(folder, data=data, on_nan="skip", eval={"data": data})
    assert "row 29 of" in run_braid("validate", job, code=1).stderr


def test_what_was_looked_at_is_said(folder):
    x = np.zeros((3_000_000, 6), dtype=np.float16)  # above the limit of a start
    write_arrays(folder, x=x, y=np.zeros(len(x), dtype=np.uint8))
    job = write_job(folder, steps=1, log_every=1)
    assert "data   all 3000000 samples were looked at" in run_braid("validate", job).stdout
    done = run_braid("train", job, "--out", folder / "run", "-v")
    assert "looked at the first 1048576 of 3000000 samples" in done.stdout
    x[2_500_000, 1] = np.inf
    np.save(folder / "x.npy", x)
    assert "row 2500000 of" in run_braid("validate", job, code=1).stderr


class Mixer(nn.Module):
    """Two inputs of one type: mixed up, everything still runs."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(4, 6), nn.Linear(4, 6)
        self.head = nn.Linear(6, 3)

    def forward(self, a, b):
        return self.head(torch.tanh(self.first(a)) * torch.sigmoid(self.second(b)))


def test_fields_of_another_order_are_evaluated_by_name(tmp_path):
    random = np.random.default_rng(5)
    for part, rows in (("train", 29), ("eval", 21)):
        for name in "ab":
            values = random.normal(size=(rows, 4)).astype(np.float32)
            np.save(tmp_path / f"{name}_{part}.npy", values)
        np.save(tmp_path / f"y_{part}.npy", random.integers(3, size=rows))
    torch.manual_seed(1)
    example = {"a": torch.randn(8, 4), "b": torch.randn(8, 4)}
    export(Mixer(), example, tmp_path / "mixer.pt2", dynamic=[0])
    job = write_job(
        tmp_path, model="mixer.pt2", loss="cross_entropy", target="y",
        data=npy("a_train", "b_train", "y_train"),
        eval={"data": npy("y_eval", "b_eval", "a_eval"), "metrics": ["loss", "accuracy"]},
    )  # fmt: skip
    run_braid("validate", job)
    run_braid("train", job, "--out", tmp_path / "run")
    run = JobRun(tmp_path / "run")
    twin = Mixer()
    twin.load_state_dict(run.state())
    with torch.no_grad():
        a, b, y = (torch.from_numpy(np.load(tmp_path / f"{name}_eval.npy")) for name in "aby")
        scores = twin(a, b)
        mixed = F.cross_entropy(twin(b, a), y)
    assert run.evaluation["loss"] == pytest.approx(F.cross_entropy(scores, y).item(), rel=1e-5)
    assert run.evaluation["accuracy"] == pytest.approx((scores.argmax(1) == y).double().mean())
    assert abs(mixed.item() - run.evaluation["loss"]) > 1e-3  # else the test shows nothing


def test_labels_that_files_number_themselves_agree(tmp_path):
    (tmp_path / "train.csv").write_text("1,2,cat\n3,4,dog\n5,6,eel\n")
    (tmp_path / "eval.csv").write_text("1,2,dog\n3,4,eel\n")
    (tmp_path / "train.txt").write_text("abcdabcd" * 9)
    (tmp_path / "eval.txt").write_text("bcdbcd" * 9)

    def job(source, **more):
        data = [{"source": source, "file": f"{part}.{more['end']}"} for part in ("train", "eval")]
        return write_job(tmp_path, model=more["model"], data=data[0], eval={"data": data[1]})

    table = job("csv", end="csv", model="mlp(hidden=4)")
    run_braid("validate", table)
    other = run_braid("validate", table, "eval.data.names=[dog, eel]", code=1)
    check_message(other.stderr, ["class 0", "'cat'", "'dog'", "names"])
    names = "[cat, dog, eel]"
    run_braid("validate", table, f"data.names={names}", f"eval.data.names={names}")
    (tmp_path / "eval.csv").write_text("1,2,dog\n3,4,fox\n")
    unknown = run_braid("validate", table, code=1).stderr
    check_message(unknown, ["a label that the training data have", "'fox'", "eval.csv, line 2"])
    text = job("text", end="txt", model="transformer_lm(width=8,heads=1,layers=1)")
    words = ["data.length=4", "eval.data.length=4"]
    run_braid("validate", text, *words)
    (tmp_path / "eval.txt").write_text("bcdx" * 9)
    check_message(run_braid("validate", text, *words, code=1).stderr, ["U+0078", "eval.txt"])


@pytest.mark.parametrize("model", ["mlp", "mixer.pt2"])
def test_an_argument_that_does_not_exist_is_named_with_those_that_do(folder, model):
    if model.endswith(".pt2"):
        example = {"a": torch.randn(8, 5)}
        export(nn.Sequential(nn.Linear(5, 3)), {"input": example["a"]}, folder / model, dynamic=[0])
    job = write_job(folder, model=model, loss="cross_entropy", inputs={"x": "inptu"})
    known = ["there are x, y"] if model == "mlp" else ["there is input", "did you mean 'input'"]
    done = run_braid("validate", job, code=2)
    check_message(done.stderr, ["[inputs]", "'inptu'", "the field 'x'", *known])


OTHER_FILES = {
    "m.pt": ["pickled", "export_model.py", "--state", "docs/import.md"],
    "m.pth": ["pickled", "export_model.py"],
    "pytorch_model.bin": ["pickled", "export_model.py"],
    "m.safetensors": ["weights without a model", "init", "export_model.py"],
    "nets.py": ["Python source", "export_model.py"],
    "m.onnx": ["ONNX", "export_model.py"],
}


@pytest.mark.parametrize("file", OTHER_FILES)
def test_other_files_of_models_say_how_to_export(folder, file):
    (folder / file).write_bytes(b"PK\x03\x04")
    job, model = write_job(folder), f"model={folder / file}"
    for words in (["validate", job, model], ["train", job, model, "--out", folder / "run"],
                  ["inspect", folder / file]):  # fmt: skip
        check_message(run_braid(*words, code=2).stderr, ["[model]", file, *OTHER_FILES[file]])


def test_a_table_of_numbers_is_learned_by_a_model_of_one_output(tmp_path):
    random = np.random.default_rng(2)
    table = random.normal(size=(45, 4))
    table[:, 3] = table[:, :3] @ [1, -2, 0.5]
    rows = [",".join(f"{value:.4f}" for value in row) for row in table]
    text = "\n".join(["a,b,c,price", *rows])  # whose last line does not end
    (tmp_path / "t.csv").write_text(text)
    data = {"source": "csv", "file": "t.csv", "target": "number"}
    job = write_job(tmp_path, model="mlp(hidden=6,layers=1,classes=1)", loss="mse", data=data,
                    eval={"data": data})  # fmt: skip
    run_braid("train", job, "--out", tmp_path / "run")
    run = JobRun(tmp_path / "run")
    state = run.state()
    table = torch.tensor(np.genfromtxt(tmp_path / "t.csv", delimiter=",", skip_header=1)).float()
    hidden = F.linear(table[:, :3], state["layers.0.weight"], state["layers.0.bias"]).relu()
    output = F.linear(hidden, state["head.weight"], state["head.bias"])
    want = F.mse_loss(output.squeeze(1), table[:, 3]).item()
    assert run.evaluation["loss"] == pytest.approx(want, rel=1e-5)
    done = run_braid("validate", job, "data.target=class", code=1)
    check_message(done.stderr, ["t.csv, line 2", "classes in column 'price'", "target: number"])
