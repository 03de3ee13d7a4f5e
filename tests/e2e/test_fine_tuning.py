"""Jobs that begin with the weights of another model: what is taken, and what is not."""

import ast
import json
import re

import pytest
import torch
from braid_run import run_braid, save
from exporting import export
from job_run import JobRun
from torch import nn
from torch.nn import functional as F
from train_jobs import check_message, write_job, write_table

STILL = {
    "model": "mlp(hidden=8,layers=1)",
    "optimizer": {"kind": "sgd", "lr": 0.0},
    "steps": 1,
    "epochs": None,
    "seed": 3,
}


@pytest.fixture(name="folder")
def make_folder(tmp_path):
    write_table(tmp_path / "table.csv")
    return tmp_path


def begin(folder, changes, *words, out="run"):
    """The weights that a job begins with, and what it says."""
    job = write_job(folder / f"{out}.yaml", STILL | changes)
    said = run_braid("train", job, "--out", folder / out, *words).stdout
    return JobRun(folder / out).state(), said


def refused(folder, changes):
    job = write_job(folder / "job.yaml", STILL | changes)
    return run_braid("train", job, "--out", folder / "refused", code=2).stderr


def given(state, names=None, seed=0):
    """Other numbers for some tensors of a state."""
    generator = torch.Generator().manual_seed(seed)
    return {
        name: torch.randn(t.shape, generator=generator).to(t.dtype)
        for name, t in state.items()
        if names is None or re.fullmatch(names, name)
    }


def taken_from(state, file, drawn):
    """Every tensor is the file's where it has one, else as without it."""
    assert state.keys() == drawn.keys()
    for name, tensor in state.items():
        assert torch.equal(tensor, file.get(name, drawn[name])), name


@pytest.fixture(name="drawn")
def make_drawn(folder):
    return begin(folder, {}, out="drawn")[0]


def test_a_head_may_be_missing(folder, drawn):
    file = {n: t for n, t in given(drawn).items() if not n.startswith("head")}
    path = str(save(folder / "base.safetensors", file))
    init = {"file": path, "missing": ["head.*"]}
    state, said = begin(folder, {"init": init}, "-v")
    taken_from(state, file, drawn)
    assert f"{len(file)} of {len(drawn)} tensors taken, 2 missing in the file" in said
    for name in drawn:
        assert re.search(rf"(taken|missing in the file): .*\b{re.escape(name)}\b", said), name


def test_shapes_may_differ_and_tensors_be_left(folder, drawn):
    file = given(drawn)
    file["head.weight"] = torch.zeros(7, 8)
    file["head.bias"] = torch.zeros(7)
    file["old.scale"] = torch.ones(2)
    path = str(save(folder / "base.safetensors", file))
    init = {"file": path, "reshaped": ["head.*"], "extra": ["old.*"]}
    state, said = begin(folder, {"init": init})
    kept = {n: t for n, t in file.items() if not n.startswith(("head", "old"))}
    taken_from(state, kept, drawn)
    assert "2 of another shape" in said and "1 of the file left (old.scale)" in said


@pytest.mark.parametrize("file_begins, model_begins", [("module.", ""), ("", "layers.")])
def test_names_may_begin_otherwise(folder, drawn, file_begins, model_begins):
    """A module that was wrapped, and a model whose part was saved alone."""
    names = [n for n in drawn if n.startswith(model_begins)]
    full = {n: t for n, t in given(drawn).items() if n in names}
    file = {file_begins + n.removeprefix(model_begins): t for n, t in full.items()}
    path = str(save(folder / "base.safetensors", file))
    init = {"file": path, "rename": {file_begins: model_begins}, "missing": ["*"]}
    state, _ = begin(folder, {"init": init})
    taken_from(state, full, drawn)


def hinted(message):
    """The value of `init` that a message advises."""
    text = re.search(r"init: (\{.*\})(;|$)", message, re.M).group(1)
    return ast.literal_eval(re.sub(r"(\{|, )(\w+):", r"\1'\2':", text))


def without(state):
    return {n: t for n, t in state.items() if not n.startswith("head")}


def in_module(state):
    return {f"module.{n}": t for n, t in state.items()}


def other_head(state):
    return without(state) | {"head.weight": torch.zeros(9, 8), "old": torch.ones(1)}


@pytest.mark.parametrize("change", [without, in_module, other_head])
def test_what_does_not_fit_is_refused_with_the_way_out(folder, drawn, change):
    file = change(given(drawn))
    path = str(save(folder / "base.safetensors", file))
    message = refused(folder, {"init": path})
    missing = [n for n in drawn if n not in file]
    strange = [n for n in file if n not in drawn]
    check_message(message, ["base.safetensors", "HINT", *missing, *strange][:8])
    assert not (folder / "refused").exists()
    state, _ = begin(folder, {"init": {"file": path} | hinted(message)})
    same = {n.removeprefix("module."): t for n, t in file.items()}
    taken_from(state, {n: t for n, t in same.items()
                       if n in drawn and t.shape == drawn[n].shape}, drawn)  # fmt: skip


def test_mistakes_in_patterns_are_found(folder, drawn):
    path = str(save(folder / "base.safetensors", given(drawn)))
    message = refused(folder, {"init": {"file": path, "missing": ["haed.*"]}})
    check_message(message, ["missing", "haed.*", "did you mean"])
    message = refused(folder, {"init": {"missing": ["head.*"]}})
    check_message(message, ["init.file"])
    twice = given(drawn) | {f"module.{n}": t for n, t in given(drawn).items()}
    path = str(save(folder / "twice.safetensors", twice))
    message = refused(folder, {"init": {"file": path, "rename": {"module.": ""}}})
    check_message(message, ["both become"])


def test_a_type_is_never_another(folder, drawn):
    file = {n: t.double() for n, t in given(drawn).items()}
    path = str(save(folder / "base.safetensors", file))
    message = refused(folder, {"init": {"file": path, "reshaped": ["*"], "missing": ["*"]}})
    check_message(message, ["expected f32", "got f64"])


@pytest.mark.parametrize("narrow", [torch.float16, torch.bfloat16])
def test_narrower_floats_become_wider_and_keep_their_numbers(folder, drawn, narrow):
    file = {n: t.to(narrow) for n, t in given(drawn).items()}
    file |= {"head.bias": given(drawn)["head.bias"]}
    path = str(save(folder / "base.safetensors", file))
    state, said = begin(folder, {"init": path})
    taken_from(state, {n: t.float() for n, t in file.items()}, drawn)
    assert f"{len(drawn)} of {len(drawn)} tensors taken, {len(drawn) - 1} of them" in said
    wide, _ = begin(folder, {"init": path, "dtype": "f64"}, out="wide")
    assert all(torch.equal(t, file[n].double()) for n, t in wide.items())


def test_members_have_files_of_their_own(folder, drawn):
    files = [without(given(drawn, seed=s)) for s in (1, 2)]
    paths = [str(save(folder / f"{i}.safetensors", file)) for i, file in enumerate(files)]
    members = [{"name": f"m{i}", "init.file": path} for i, path in enumerate(paths)]
    members.append({"name": "whole", "init": {}})
    job = write_job(
        folder / "list.yaml",
        STILL | {"init": {"missing": ["head.*"], "file": paths[0]}, "members": members},
    )
    run_braid("train", job, "--out", folder / "list")
    for i, file in enumerate(files):
        taken_from(JobRun(folder / "list" / f"m{i}").state(), file, drawn)
    taken_from(JobRun(folder / "list" / "whole").state(), {}, drawn)


class Net(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, 6), nn.BatchNorm1d(6), nn.Tanh())
        self.head = nn.Linear(6, classes)
        self.tied = nn.Linear(4, 6)
        self.tied.weight = self.body[0].weight

    def forward(self, x, y):
        return F.cross_entropy(self.head(self.body(x) + self.tied(x)), y)


@pytest.mark.parametrize("seed", [0, 1])
def test_an_exported_model_keeps_the_rest_of_its_own(folder, seed):
    torch.manual_seed(0)
    batch = {"x": torch.randn(8, 4), "y": torch.randint(3, (8,))}
    export(Net(3), batch, folder / "net.pt2", make=lambda: Net(3), dynamic=[0])
    base = given({n: t for n, t in Net(5).state_dict().items() if not n.endswith("tracked")})
    del base["tied.weight"]  # stands under its other name
    path = str(save(folder / "base.safetensors", base))
    changes = {"model": str(folder / "net.pt2"), "seed": seed}
    drawn, _ = begin(folder, changes, out="drawn")
    init = {"file": path, "reshaped": ["head.*"], "missing": ["*.num_batches_tracked"]}
    state, said = begin(folder, changes | {"init": init}, out="tuned")
    same = {n: t for n, t in base.items() if not n.startswith("head")}
    same["tied.weight"] = same["body.0.weight"]
    # Statistics move in the step.
    fixed = {n for n in state if "running" not in n and "tracked" not in n}
    taken_from(*({n: t for n, t in d.items() if n in fixed} for d in (state, same, drawn)))
    assert "2 of another shape" in said


def test_one_network_of_several_has_a_file(folder):
    torch.manual_seed(0)
    parts = {"g": nn.Linear(2, 4), "d": nn.Linear(4, 1)}
    export(parts["g"], {"input": torch.randn(8, 2)}, folder / "g.pt2", dynamic=[0])
    export(parts["d"], {"input": torch.randn(8, 4)}, folder / "d.pt2", dynamic=[0])
    save(folder / "x.safetensors", {"x": torch.randn(16, 4)})
    path = str(save(folder / "base.safetensors", {"module.weight": torch.ones(4, 2)}))
    init = {"file": path, "rename": {"module.": ""}, "missing": ["bias"]}
    still = {"kind": "sgd", "lr": 0.0}
    job = {
        "networks": {
            "g": {"model": str(folder / "g.pt2"), "init": init, "optimizer": still},
            "d": {"model": str(folder / "d.pt2"), "optimizer": still},
        },
        "phases": [
            {"learns": "d", "loss": "bce_with_logits(d(x), 1)"},
            {"learns": "g", "loss": "bce_with_logits(d(g(z)), 1)"},
        ],
        "noise": {"z": {"shape": [2]}},
        "data": {"source": "safetensors", "file": str(folder / "x.safetensors")},
        "steps": 1,
        "batch_size": 8,
    }
    (folder / "job.yaml").write_text(json.dumps(job))
    said = run_braid("train", folder / "job.yaml", "--out", folder / "run").stdout
    state = JobRun(folder / "run").state("g")
    assert torch.equal(state["weight"], torch.ones(4, 2))
    assert torch.equal(state["bias"], parts["g"].bias.detach())
    assert "g: first weights of" in said and "1 of 2 tensors taken" in said


def test_a_run_that_goes_on_is_as_if_it_had_not_stopped(folder, drawn):
    path = save(folder / "base.safetensors", without(given(drawn)))
    init = {"file": str(path), "missing": ["head.*"], "rename": {"module.": ""}}
    tuned = STILL | {"init": init, "optimizer": {"lr": 0.1}, "checkpoint": {"every": 3}}
    for out, steps in (("whole", 5), ("part", 2)):
        job = write_job(folder / "job.yaml", tuned | {"steps": steps})
        run_braid("train", job, "--out", folder / out, "-q")
    config = folder / "part" / "config.yaml"
    config.write_text(re.sub(r"(?m)^steps: 2$", "steps: 5", config.read_text()))
    said = run_braid("resume", folder / "part").stdout
    assert "first weights" not in said
    states = [JobRun(folder / out).state() for out in ("whole", "part")]
    assert all(torch.equal(states[0][name], states[1][name]) for name in drawn)
