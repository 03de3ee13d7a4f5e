"""Bad command lines: the exit code, a message that helps, and nothing harmed."""

import os
import re

import models
import pytest
import torch
from braid_run import run_braid, save, step_args

FILES = {
    "plan-word.yaml": "segments: {layers.0: recompte}\n",
    "plan-segment.yaml": "segments:\n  layers.9: keep\n",
    "plan-key.yaml": "segmets: {default: keep}\n",
    "plan-depth.yaml": "depth: deep\n",
    "plan-list.yaml": "- keep\n",
    "broken.yaml": "segments: {default: keep\n",
    "members-key.yaml": "- {seed: 1}\n- {seed: 2, leraning_rate: 1}\n",
    "members-seed.yaml": "- {seed: one}\n",
    "members-lr.yaml": "- {lr: 1e-4}\n- {lr: fast}\n",
    "members-map.yaml": "seed: 1\n",
    "members-empty.yaml": "",
    "members-twice.yaml": "- {lr: 1, lr: 2}\n",
    "members-list.yaml": "- {lr: [1, 2]}\n",
    "members-file.yaml": "- {inputs: nowhere.safetensors}\n",
    "members-nesterov.yaml": "- {nesterov: true}\n",
    "members-shape.yaml": "- {inputs: x.safetensors}\n- {inputs: narrow.safetensors}\n",
    "junk.graph": "this is no graph\n",
    "empty.graph": "braid-graph 1\n",
    "unknown.graph": 'braid-graph 1\ninput %0 "x" f32[2]\n%1: f32[2] = rellu(%0)\n',
}

BASE = {
    "model": "mlp",
    "inputs": "x.safetensors",
    "steps": 2,
    "optimizer": "sgd",
    "out": "out",
}

# What differs from BASE (None: left out), more arguments, exit code, words of
# the message.
CASES = {
    "unknown model": ({"model": "mpl"}, [], 2, ["[model]", "mpl", "mlp"]),
    "unknown size": ({"model": "mlp(hiden=8)"}, [], 2, ["[model]", "hiden", "hidden"]),
    "size as text": ({"model": "mlp(hidden=wide)"}, [], 2, ["[model]", "hidden=wide"]),
    "size of zero": ({"model": "mlp(hidden=0)"}, [], 2, ["[model]", "hidden"]),
    "open parenthesis": ({"model": "mlp(hidden=8"}, [], 2, ["[model]", "HINT"]),
    "dropout above one": ({"model": "mlp(dropout=2)"}, [], 2, ["[model]", "dropout"]),
    "heads do not divide": ({"model": "transformer(width=10,heads=4)"}, [], 2, ["["]),
    "missing graph file": ({"model": "none.graph"}, [], 1, ["none.graph", "HINT"]),
    "junk graph file": ({"model": "junk.graph"}, [], 2, ["junk.graph", "line 1"]),
    "graph without loss": ({"model": "empty.graph"}, [], 2, ["empty.graph", "loss"]),
    "graph of an unknown op": ({"model": "unknown.graph"}, [], 2, ["line 3", "rellu", "relu"]),
    "directory as model": ({"model": "./folder"}, [], 1, ["folder", "directory"]),
    "unknown verb": (None, ["stpe", "mlp"], 2, ["[braid]", "stpe", "step"]),
    "unknown option": ({}, ["--optimzer", "sgd"], 2, ["[braid step]", "--optimizer"]),
    "option without value": ({}, ["--seed"], 2, ["[braid step]", "--seed"]),
    "one word too many": ({}, ["more"], 2, ["[braid step]", "more"]),
    "no model": ({"model": None}, [], 2, ["[braid step]", "MODEL"]),
    "no steps": ({"steps": None}, [], 2, ["[braid step]", "--steps"]),
    "no optimizer": ({"optimizer": None}, [], 2, ["[braid step]", "--optimizer"]),
    "no out": ({"out": None}, [], 2, ["[braid step]", "--out"]),
    "no inputs": ({"inputs": None}, [], 2, ["[braid step]", "--inputs"]),
    "unknown optimizer": ({"optimizer": "adamv"}, [], 2, ["[optimizer]", "adamv", "adamw"]),
    "negative steps": ({"steps": -3}, [], 2, ["--steps", "-3"]),
    "steps as text": ({"steps": "many"}, [], 2, ["--steps", "many"]),
    "steps too large": ({"steps": 10**30}, [], 2, ["--steps"]),
    "negative seed": ({}, ["--seed", "-1"], 2, ["--seed", "-1"]),
    "no micro-batches": ({}, ["--accumulate", "0"], 2, ["--accumulate"]),
    "batch that does not divide": ({}, ["--accumulate", "3"], 2, ["[inputs]", "8", "3"]),
    "too many threads": ({}, ["--threads", "100000"], 2, ["--threads"]),
    "unknown dtype": ({}, ["--dtype", "f16"], 2, ["--dtype", "f16"]),
    "other dtype than the inputs": ({}, ["--dtype", "f64"], 2, ["[inputs]", "f64", "f32"]),
    "unknown device": ({}, ["--device", "tpu"], 2, ["[device]", "tpu"]),
    "limit is no number": ({}, ["--memory-limit", "nan"], 2, ["--memory-limit", "nan"]),
    "limit is negative": ({}, ["--memory-limit", "-1"], 2, ["--memory-limit", "-1"]),
    "limit of a strange unit": ({}, ["--memory-limit", "4Gb"], 2, ["--memory-limit", "HINT"]),
    "limit too low": ({}, ["--memory-limit", "100"], 1, ["[memory]", "bytes short"]),
    "lr as text": ({}, ["--set", "lr=fast"], 2, ["[set]", "lr", "fast"]),
    "lr is no number": ({}, ["--set", "lr=nan"], 2, ["[set]", "lr", "nan"]),
    "lr is negative": ({}, ["--set", "lr=-1"], 2, ["[set]", "lr", "-1"]),
    "flag as number": ({}, ["--set", "nesterov=7"], 2, ["[set]", "nesterov", "7"]),
    "value without name": ({}, ["--set", "0.1"], 2, ["[set]", "NAME=VALUE"]),
    "unknown value": ({}, ["--set", "momentun=0.9"], 2, ["[set]", "momentum"]),
    "value of another optimizer": ({}, ["--set", "beta1=0.9"], 2, ["[set]", "beta1"]),
    "dropout without layers": ({}, ["--set", "dropout=0.5"], 2, ["[set]", "dropout", "HINT"]),
    "missing inputs file": ({"inputs": "none.safetensors"}, [], 1, ["none.safetensors"]),
    "truncated inputs": ({"inputs": "cut.safetensors"}, [], 1, ["[safetensors]", "cut"]),
    "inputs are text": ({"inputs": "junk.graph"}, [], 1, ["[safetensors]", "junk.graph"]),
    "inputs of wrong shape": ({"inputs": "flat.safetensors"}, [], 2, ["[inputs]", "x:"]),
    "inputs of wrong dtype": ({"inputs": "int32.safetensors"}, [], 2, ["y:", "i64", "i32"]),
    "inputs missing and extra": (
        {"inputs": "names.safetensors"}, [], 2, ["[inputs]", "x: missing", "features: not"],
    ),
    "class out of range": ({"inputs": "range.safetensors"}, [], 2, ["y: holds 9", "0 to 3"]),
    "missing init file": ({}, ["--init", "none.safetensors"], 1, ["none.safetensors"]),
    "init of another model": ({}, ["--init", "x.safetensors"], 2, ["[init]", "head.weight"]),
    "missing plan": ({}, ["--plan", "none.yaml"], 1, ["none.yaml"]),
    "plan of unknown word": ({}, ["--plan", "plan-word.yaml"], 2, ["line 1", "recompute"]),
    "plan of unknown segment": ({}, ["--plan", "plan-segment.yaml"], 2, ["line 2", "layers.9"]),
    "plan of unknown key": ({}, ["--plan", "plan-key.yaml"], 2, ["[plan]", "segments"]),
    "plan of strange depth": ({}, ["--plan", "plan-depth.yaml"], 2, ["[plan]", "deep"]),
    "plan is a list": ({}, ["--plan", "plan-list.yaml"], 2, ["[plan]", "map"]),
    "broken YAML": ({}, ["--plan", "broken.yaml"], 2, ["[plan]", "not valid YAML"]),
    "member with unknown key": ({}, ["--members", "members-key.yaml"], 2, ["line 2"]),
    "member with strange seed": ({}, ["--members", "members-seed.yaml"], 2, ["seed", "one"]),
    "member with lr as text": ({}, ["--members", "members-lr.yaml"], 2, ["line 2", "fast"]),
    "members are a map": ({}, ["--members", "members-map.yaml"], 2, ["[members]", "list"]),
    "no members": ({}, ["--members", "members-empty.yaml"], 2, ["[members]", "list"]),
    "key stands twice": ({}, ["--members", "members-twice.yaml"], 2, ["[members]", "twice"]),
    "list as value": ({}, ["--members", "members-list.yaml"], 2, ["[members]", "lr"]),
    "member's file is missing": ({}, ["--members", "members-file.yaml"], 1, ["nowhere"]),
    "member has nesterov": ({}, ["--members", "members-nesterov.yaml"], 2, ["--set nesterov"]),
    "member of another shape": ({}, ["--members", "members-shape.yaml"], 2, ["narrow"]),
    "missing members": ({}, ["--members", "none.yaml"], 1, ["none.yaml"]),
    "out is a file": ({"out": "x.safetensors"}, [], 1, ["[out]", "x.safetensors"]),
    "out is below a file": ({"out": "x.safetensors/out"}, [], 1, ["[out]", "HINT"]),
    "out cannot be created": ({"out": "/proc/none/out"}, [], 1, ["[out]", "/proc/none/out"]),
    "inspect nothing": (None, ["inspect"], 2, ["[braid inspect]", "MODEL"]),
    "unknown pass": (None, ["inspect", "mlp", "--dump-after", "autodif"], 2, ["autodiff"]),
    "negative copies": (None, ["inspect", "mlp", "--copies", "-2"], 2, ["--copies", "-2"]),
    "inspect an unknown model": (None, ["inspect", "lenett"], 2, ["[model]", "lenet"]),
}  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Files that the command lines name; "out" holds the results of a run."""
    path = tmp_path_factory.mktemp("errors")
    good = models.batch("mlp", size=8, features=6, classes=4)
    save(path / "x.safetensors", good)
    save(path / "flat.safetensors", good | {"x": good["x"].flatten()})
    save(path / "narrow.safetensors", good | {"x": good["x"][:, :3]})
    save(path / "int32.safetensors", good | {"y": good["y"].to(torch.int32)})
    save(path / "names.safetensors", {"features": good["x"], "y": good["y"]})
    save(path / "range.safetensors", good | {"y": good["y"].fill_(9)})
    whole = (path / "x.safetensors").read_bytes()
    (path / "cut.safetensors").write_bytes(whole[: len(whole) - 20])
    (path / "folder").mkdir()
    for name, text in FILES.items():
        (path / name).write_text(text)
    run_braid(*step_args("mlp", "x.safetensors", 2, "sgd", {}, "out"), cwd=path)
    return path


def snapshot(folder):
    return {
        str(p.relative_to(folder)): p.read_bytes() if p.is_file() else None
        for p in folder.rglob("*")
    }


def arguments(changes, more):
    if changes is None:
        return more
    given = {k: v for k, v in (BASE | changes).items() if v is not None}
    model = [given.pop("model")] if "model" in given else []
    options = [word for k, v in given.items() for word in (f"--{k}", str(v))]
    return ["step", *model, *options, *more]


@pytest.mark.parametrize("case", CASES)
def test_bad_command_line(folder, case):
    changes, more, code, words = CASES[case]
    before = snapshot(folder)
    done = run_braid(*arguments(changes, more), code=code, cwd=folder)
    assert done.stdout == ""
    assert re.match(r"\[[\w. -]+( at [\w.]+)?\] \S", done.stderr), done.stderr
    for word in words:
        assert word in done.stderr, f"no '{word}' in:\n{done.stderr}"
    for trace in ("Exception raised from", "terminate called", "Traceback", "0x"):
        assert trace not in done.stderr
    assert snapshot(folder) == before


def test_the_table_is_long_enough():
    assert len(CASES) >= 30


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_out_that_cannot_be_written(folder, tmp_path):
    locked = tmp_path / "locked"
    locked.mkdir(mode=0o500)
    args = step_args("mlp", folder / "x.safetensors", 2, "sgd", {}, locked)
    assert "HINT" in run_braid(*args, code=1).stderr


def test_help_and_version_succeed():
    assert re.fullmatch(r"braid \d+\.\d+\.\d+\n", run_braid("--version").stdout)
    for args in (["--help"], ["step", "--help"], ["inspect", "--help"]):
        text = run_braid(*args).stdout
        assert text and max(len(line) for line in text.splitlines()) <= 80
    assert "Usage" in run_braid(code=2).stdout
