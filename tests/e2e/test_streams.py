"""Shards, libraries and programs as sources: trainings on them equal those on the same
numbers from .npy files bit for bit, also when resumed; what goes wrong is said clearly."""

import json
import os
import random
import shutil
import signal
import struct
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from braid_run import braid_bin, run_braid
from job_run import JobRun, bits
from safetensors.numpy import save_file

ROOT = Path(__file__).resolve().parents[2]
FEED = ROOT / "scripts" / "feed_dataset.py"
ROWS = 37  # which no batch divides


@pytest.fixture(name="folder")
def make_folder(tmp_path):
    draw = np.random.default_rng(3)
    np.save(tmp_path / "x.npy", draw.normal(size=(ROWS, 5)).astype(np.float32))
    np.save(tmp_path / "y.npy", draw.integers(3, size=ROWS).astype(np.int32))
    return tmp_path


NPY = {"source": "npy", "files": ["x=x.npy", "y=y.npy"], "classes": 3}


def train(folder, name, data, *words, code=0, **keys):
    """Trains and gives the run, or what was said when it failed."""
    job = {
        "model": "mlp(hidden=4,classes=3)", "data": data, "steps": 11, "batch_size": 8,
        "threads": 1, "seed": 5, "optimizer": {"kind": "adamw", "lr": 0.01},
        "checkpoint": {"every": 4, "keep": 9},
    } | keys  # fmt: skip
    path = folder / f"{name}.yaml"
    path.write_text(json.dumps(job))
    done = run_braid("train", path, "--out", folder / name, "-q", *words, code=code)
    return JobRun(folder / name) if code == 0 else done.stderr


def write_shards(folder):
    """Of safetensors and of .npy files, in parts of unequal length."""
    x, y = np.load(folder / "x.npy"), np.load(folder / "y.npy")
    for kind in ("tensors", "arrays"):
        (folder / kind).mkdir()
    for i, (first, last) in enumerate([(0, 20), (20, 21), (21, ROWS)]):
        part = {"x": x[first:last].copy(), "y": y[first:last].copy()}
        save_file(part, folder / "tensors" / f"{i}.safetensors")
        for name, array in part.items():
            np.save(folder / "arrays" / f"{name}-{i}.npy", array)


@pytest.mark.parametrize("mixing", [{}, {"shuffle_block": 4, "shuffle_window": 3}])
def test_shards_train_as_one_file_does(folder, mixing):
    write_shards(folder)
    whole = bits(train(folder, "whole", NPY | mixing))
    for kind in ("tensors", "arrays"):
        shards = {"source": "shards", "folder": kind, "classes": 3} | mixing
        assert bits(train(folder, f"{kind}-run", shards)) == whole
    if mixing:
        assert bits(train(folder, "plain", NPY)) != whole


def stopped_and_resumed(folder, name, data, **keys):
    """The same, going on from step 4."""
    done = train(folder, name, data, **keys).folder
    for path in (done / "checkpoints").iterdir():
        if int(path.name.removeprefix("step-")) > 4:
            shutil.rmtree(path)
    run_braid("resume", done, "-q")
    return JobRun(done)


def test_shards_of_blocks_resume_exactly(folder):
    write_shards(folder)
    data = {
        "source": "shards", "folder": "tensors", "classes": 3,
        "shuffle_block": 3, "shuffle_window": 2,
    }  # fmt: skip
    whole = train(folder, "whole", data)
    again = stopped_and_resumed(folder, "again", data)
    assert bits(again)[0] == bits(whole)[0]


def test_blocks_need_what_they_count(folder):
    said = train(folder, "a", NPY | {"shuffle_window": 3}, code=2)
    assert "shuffle_window" in said and "shuffle_block: 1024" in said
    said = train(folder, "b", NPY | {"shuffle_block": 3, "shuffle": False}, code=2)
    assert "shuffle is false" in said


def test_shards_that_differ_are_refused(folder):
    write_shards(folder)
    save_file(
        {"x": np.zeros((2, 4), np.float32), "y": np.zeros(2, np.int32)},
        folder / "tensors" / "9.safetensors",
    )
    said = train(folder, "a", {"source": "shards", "folder": "tensors"}, code=1)
    assert "expected x f32 [5] as" in said and "9.safetensors" in said


# A library.

PLAIN_C = r"""
#include <string.h>
#include "braid/data/source_abi.h"
#ifndef ABI
#define ABI BRAID_SOURCE_ABI
#endif
static const int64_t shape[] = {5};
static BraidField fields[] = {{"x", "f32", shape, 1, 0}, {"y", DTYPE, 0, 0, 3}};
static int read_sample(void* state, int64_t index, const BraidDraw* draw,
                       void* const* out, char* error, size_t bytes) {
  if (index == FAILS) { strncpy(error, "the cat ate it", bytes); return 7; }
  for (int i = 0; i < 5; ++i) ((float*)out[0])[i] = (float)((index * 7 + i) % 11);
  *(int64_t*)out[1] = index % LABELS;
  return 0;
}
uint32_t braid_source_abi(void) { return ABI; }
int NAME(const BraidOption* options, size_t count, BraidSource* source,
         char* error, size_t bytes) {
  source->size = 37; source->fields = fields; source->num_fields = 2;
  source->read = read_sample;
  return 0;
}
"""


def compile_c(folder, **values):
    """A library in C; a compiler of C++ is not needed for one."""
    words = {"FAILS": -1, "LABELS": 3, "DTYPE": '"i64"', "NAME": "braid_open_source"} | values
    (folder / "own.c").write_text(PLAIN_C)
    defines = [f"-D{name}={value}" for name, value in words.items()]
    subprocess.run(
        ["cc", "-shared", "-fPIC", "-Wall", "-Werror", f"-I{ROOT / 'src'}", *defines]
        + [folder / "own.c", "-o", folder / "libown.so"],
        check=True,
    )
    return {"source": "library", "library": "./libown.so"}


def test_a_library_trains_as_the_same_numbers_do(folder):
    index = np.arange(ROWS)
    x = ((index[:, None] * 7 + np.arange(5)) % 11).astype(np.float32)
    np.save(folder / "x.npy", x)
    np.save(folder / "y.npy", index % 3)
    whole = bits(train(folder, "whole", NPY))
    assert bits(train(folder, "own", compile_c(folder))) == whole


WRONG_LIBRARIES = [
    ({"ABI": 99}, "expected version 1 of braid/data/source_abi.h, got 99"),
    ({"NAME": "other"}, "expected a function braid_open_source"),
    ({"DTYPE": '"f16"'}, "expected f32, f64, i64 or bool as type of 'y', got 'f16'"),
    ({"DTYPE": '"f32"'}, "'y' is f32 and cannot have 3 classes"),
    ({"FAILS": 12}, "sample 12: the cat ate it"),
    ({"LABELS": 4}, "expected a class from 0 to 2, got 3 (y, row 3 of"),
]


@pytest.mark.parametrize("values, text", WRONG_LIBRARIES)
def test_a_wrong_library_says_what_is_wrong(folder, values, text):
    said = train(folder, "own", compile_c(folder, **values), code=1)
    assert text in said and "libown.so" in said


def test_a_library_must_be_one(folder):
    data = {"source": "library", "library": "./libnone.so"}
    assert "libnone.so" in train(folder, "a", data, code=1)
    (folder / "libnone.so").write_text("no library")
    assert "libnone.so" in train(folder, "b", data, code=1)
    assert "'library'" in train(folder, "c", {"source": "library"}, code=2)


SPIRAL = Path(braid_bin()).parent / "examples" / "libown_source.so"


def test_the_example_takes_its_own_options(folder):
    data = {"source": "library", "library": str(SPIRAL), "arms": 3, "count": 50}
    words = {"model": "mlp(hidden=8)"}
    first = bits(train(folder, "a", data, **words))
    assert bits(train(folder, "b", data | {"noise": 0.5}, **words)) != first
    for option, text in [
        ({"arm": 3}, "unknown option 'arm'; there are: arms, count, noise, seed"),
        ({"arms": "few"}, "expected a whole number for 'arms', got 'few'"),
        ({"arms": 0}, "expected 1 arm or more"),
    ]:
        said = train(folder, "c", {k: v for k, v in data.items() if k != "arms"} | option, code=1)
        assert text in said and "libown_source.so" in said


# A program.

DATASETS = """
import random
import time

import numpy as np


class Plain:
    def __init__(self, fail=-1, shape=-1):
        self.x, self.y = np.load("x.npy"), np.load("y.npy")
        self.fail, self.shape = fail, shape

    def __len__(self):
        return len(self.x)

    def __getitem__(self, index):
        print("this is no frame")
        if index == self.fail:
            raise KeyError("lost")
        return self.x[index][:3] if index == self.shape else self.x[index], self.y[index]


class Noisy(Plain):
    def __getitem__(self, index):
        x, y = super().__getitem__(index)
        return {"y": y, "x": np.float32(x + np.random.rand(5) + random.random())}


def none():
    return []
"""

TORCH = """
import torch
from sets import Plain


class Train(Plain, torch.utils.data.Dataset):
    def __getitem__(self, index):
        x, y = super().__getitem__(index)
        return torch.from_numpy(x), torch.tensor(y)


class Noisy(Train):
    def __getitem__(self, index):
        x, y = super().__getitem__(index)
        return x.double() + torch.rand(5), y
"""


def feed(folder, *words):
    (folder / "sets.py").write_text(DATASETS)
    (folder / "torch_sets.py").write_text(TORCH)
    command = [sys.executable, str(FEED), *map(str, words)]
    return {"source": "command", "command": command, "classes": 3}


def children_of(folder):
    """Programs that run in that folder."""
    found = []
    for process in Path("/proc").iterdir():
        if process.name.isdigit():
            try:
                if (process / "cwd").resolve() == folder.resolve():
                    found.append((process / "cmdline").read_text())
            except OSError:
                pass
    return found


def test_a_dataset_of_pytorch_trains_as_its_arrays_do(folder):
    whole = bits(train(folder, "whole", NPY))
    assert bits(train(folder, "fed", feed(folder, "sets.Plain"))) == whole
    fed = train(folder, "torch", feed(folder, "torch_sets:Train", "--workers", 2))
    assert bits(fed) == whole
    assert children_of(folder) == []


def test_random_changes_of_a_dataset_resume_exactly(folder):
    data = feed(folder, "sets.Noisy")
    whole = train(folder, "whole", data)
    assert bits(stopped_and_resumed(folder, "again", data))[0] == bits(whole)[0]
    parallel = train(folder, "two", feed(folder, "sets.Noisy", "--workers", 2))
    assert bits(parallel) == bits(whole)


def test_an_array_on_one_program_equals_runs_alone(folder):
    data = feed(folder, "sets.Noisy")
    seeds = (1, 2, 3)
    members = {"members": [{"seed": seed} for seed in seeds]}
    path = folder / "all.yaml"
    alone = [bits(train(folder, f"one-{seed}", data, seed=seed)) for seed in seeds]
    job = json.loads((folder / "one-1.yaml").read_text())
    del job["seed"]
    path.write_text(json.dumps(job | members))
    run_braid("train", path, "--out", folder / "all", "-q")
    runs = sorted(p.parent for p in (folder / "all").rglob("metrics.jsonl"))
    assert [bits(JobRun(run))[0] for run in runs] == [files for files, _ in alone]


WRONG_DATASETS = [
    (("sets.Plain", "--set", "fail=12"), "sample 12: KeyError: 'lost'"),
    (("sets.Plain", "--set", "shape=12"), "sample 12: 'x' is float32 [3]"),
    (("sets.Missing",), "the module 'sets' has no 'Missing'"),
    (("nowhere.Missing",), "No module named 'nowhere'"),
    (("sets.none",), "has no samples"),
    (("sets.Plain", "--fields", "x"), "has 2 parts, and --fields has 1 names"),
]


@pytest.mark.parametrize("words, text", WRONG_DATASETS)
def test_what_is_wrong_with_a_dataset_is_said(folder, words, text):
    said = train(folder, "fed", feed(folder, *words), code=1)
    assert text in said and "feed_dataset.py" in said
    assert children_of(folder) == []


def program(folder, text):
    (folder / "program.py").write_text("import os, struct, sys, time\n" + text)
    return {"source": "command", "command": [sys.executable, "program.py"], "timeout": 0.5}


FIRST = """
header = (
    b'{"__metadata__":{"braid.samples":"37"},'
    b'"x":{"dtype":"F32","shape":[0,5],"data_offsets":[0,0]},'
    b'"y":{"dtype":"I64","shape":[0],"data_offsets":[0,0]}}'
)
frame = struct.pack("<QQ", 8 + len(header), len(header)) + header
os.write(1, frame)
"""

WRONG_PROGRAMS = [
    ("sys.exit('no luck today')", "ended with status 1"),
    ("print('no luck today', file=sys.stderr); os.abort()", "was ended by signal 6"),
    ("print('hello, world of frames')", "standard output is for frames alone"),
    ("os.write(1, struct.pack('<Q', 1 << 62))", "sent a frame of 4611686018427387904 bytes"),
    ("os.write(1, struct.pack('<QQ', 16, 1 << 40) + b'x' * 8)", "a header of 1099511627776"),
    ("os.write(1, b'123')", "expected a first frame with its fields"),
    ("time.sleep(60)", "gave no sign for 0.5 s"),
    (FIRST, "ended with status 0"),
    (FIRST + "os.close(1); time.sleep(60)", "closed its output"),
    (FIRST + "time.sleep(60)", "gave no sign for 0.5 s"),
    (FIRST + "os.read(0, 8); os.write(1, frame); time.sleep(60)", "sent x f32 [0, 5], expected"),
    (FIRST.replace("37", "many"), "gave 'many' for 'braid.samples'"),
    (FIRST.replace("[0,5]", "[0,0]"), "expected real numbers of shape [0, ...]"),
]


@pytest.mark.parametrize("text, problem", WRONG_PROGRAMS)
def test_a_wrong_program_is_named_with_its_last_lines(folder, text, problem):
    said = train(folder, "fed", program(folder, text), code=1)
    assert problem in said and "program.py" in said
    if "luck" in text:
        assert "no luck today" in said.split("its last lines")[1]
    assert children_of(folder) == []


def test_a_program_that_is_not_there(folder):
    said = train(folder, "a", {"source": "command", "command": ["no-such-program"]}, code=1)
    assert "cannot start 'no-such-program'" in said
    said = train(folder, "b", {"source": "command", "command": []}, code=2)
    assert "expected a program" in said


def test_ctrl_c_saves_and_ends_the_program(folder):
    """As a terminal sends it: to all of the foreground's processes."""
    data = feed(folder, "sets.Plain", "--workers", 1)
    job = {
        "model": "mlp(hidden=4,classes=3)", "data": data, "steps": 10**9, "batch_size": 8,
        "threads": 1,
    }  # fmt: skip
    (folder / "long.yaml").write_text(json.dumps(job))
    process = subprocess.Popen(
        [braid_bin(), "train", folder / "long.yaml", "--out", folder / "long", "-q"],
        start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    metrics = folder / "long" / "metrics.jsonl"
    for _ in range(600):
        if metrics.exists() and metrics.stat().st_size > 0:
            break
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)
    said = process.communicate(timeout=60)[1]
    assert process.returncode == 130, said
    assert list((folder / "long" / "checkpoints").iterdir())
    assert children_of(folder) == []


def ask(process, draw, indices):
    process.stdin.write(struct.pack(f"<{3 + len(indices)}q", len(indices), *draw, *indices))
    process.stdin.flush()
    return read_frame(process)


def read_frame(process):
    (length,) = struct.unpack("<Q", process.stdout.read(8))
    from safetensors.numpy import load

    return load(process.stdout.read(length))


def test_the_format_is_what_the_page_says(folder):
    """Spoken by hand, with the library of safetensors as the judge of frames."""
    words = feed(folder, "torch_sets.Noisy")["command"]
    with subprocess.Popen(
        words, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        first = read_frame(process)
        assert first["x"].shape == (0, 5) and first["y"].shape == (0,)
        order = random.Random(1).sample(range(ROWS), 9)
        batch = ask(process, (1, 2), order)
        np.testing.assert_array_equal(batch["y"], np.load(folder / "y.npy")[order])
        one = ask(process, (1, 2), [order[4]])
        np.testing.assert_array_equal(one["x"][0], batch["x"][4])
        assert (ask(process, (1, 3), order)["x"] != batch["x"]).all()
        process.stdin.close()
        assert process.wait(timeout=20) == 0
