"""The four models against plain PyTorch, from the same initial state."""

import copy
import math

import models
import pytest
import torch
from braid_run import model_text, run_step, save
from measure import Run, clip_norm, clip_value, differences, nudged_runs, train

STEPS = 5
SIZES = {
    "mlp": {"features": 12, "hidden": 24, "layers": 2, "classes": 5},
    "lenet": {"channels": 2, "side": 20, "classes": 6},
    "resblock": {"channels": 8, "side": 8, "blocks": 2, "classes": 5},
    "transformer": {"length": 12, "vocab": 20, "width": 16, "heads": 2, "layers": 2},
}
# Sizes that the inputs tell are left out of the command line.
TOLD = {"features", "side", "length"}
DTYPES = {"f64": torch.float64, "f32": torch.float32}
TOLERANCE = {"f64": (1e-9, 1e-9), "f32": (1e-4, 1e-5)}  # state and losses, gradients


def sgd(**values):
    return "sgd", values, lambda p: torch.optim.SGD(p, **values)


def adamw(lr, beta1, beta2, weight_decay):
    values = {"lr": lr, "beta1": beta1, "beta2": beta2, "weight_decay": weight_decay}
    return "adamw", values, lambda p: torch.optim.AdamW(
        p, lr=lr, betas=(beta1, beta2), weight_decay=weight_decay
    )


OPTIMIZERS = {
    "sgd": sgd(lr=0.05, momentum=0.9, weight_decay=1e-2),
    "nesterov": sgd(lr=0.05, momentum=0.9, weight_decay=1e-2, nesterov=True),
    "adamw": adamw(1e-2, 0.8, 0.99, 0.05),
}


def cli_sizes(name):
    kept = {k: v for k, v in SIZES[name].items() if k not in TOLD}
    if name == "lenet":
        del kept["channels"]
    return model_text(name, kept)


class Case:
    """A twin, its batch and both as files."""

    def __init__(self, folder, name, dtype, size=8):
        self.folder, self.name, self.dtype = folder, name, dtype
        self.twin = models.make(name, DTYPES[dtype], **SIZES[name])
        self.inputs = models.batch(name, DTYPES[dtype], size=size, **SIZES[name])
        self.inputs_file = save(folder / "inputs.safetensors", self.inputs)
        self.init_file = save(folder / "init.safetensors", self.twin.state_dict())

    def braid(self, optimizer, values, steps=STEPS, out="out", **options):
        result = run_step(
            cli_sizes(self.name), self.inputs_file, steps, optimizer, values,
            self.folder / out, init=self.init_file, dtype=self.dtype, **options,
        )  # fmt: skip
        return Run(result.losses, result.grads, result.state)

    def check(self, got, make, lr, **options):
        args = (self.inputs, make, STEPS)
        expected = train(copy.deepcopy(self.twin), *args, **options)
        nudges = nudged_runs(self.twin, *args, **options)
        lines = differences(got, expected, nudges, *TOLERANCE[self.dtype], lr * STEPS)
        assert not lines, "\n".join(lines)
        return expected


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", SIZES)
def test_five_steps(tmp_path, name, dtype, optimizer):
    kind, values, make = OPTIMIZERS[optimizer]
    case = Case(tmp_path, name, dtype)
    case.check(case.braid(kind, values), make, values["lr"])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["mlp", "transformer"])
def test_clipping_by_global_norm(tmp_path, name, dtype):
    kind, values, make = OPTIMIZERS["sgd"]
    case = Case(tmp_path, name, dtype)
    norm = 0.1
    got = case.braid(kind, {**values, "clip_norm": norm})
    expected = case.check(got, make, values["lr"], clip=clip_norm(norm))
    raw = math.sqrt(sum(float(g.double().square().sum()) for g in expected.grads.values()))
    assert raw > 2 * norm, "nothing was clipped"


def test_clipping_by_value(tmp_path):
    """The gradients written are those before clipping."""
    kind, values, make = OPTIMIZERS["sgd"]
    case = Case(tmp_path, "mlp", "f64")
    limit = 0.005
    got = case.braid(kind, {**values, "clip_value": limit})
    expected = case.check(got, make, values["lr"], clip=clip_value(limit))
    assert max(float(g.abs().max()) for g in expected.grads.values()) > 2 * limit


@pytest.mark.parametrize("micro_batches", [2, 4])
@pytest.mark.parametrize("name", ["mlp", "lenet", "transformer"])
def test_accumulation(tmp_path, name, micro_batches):
    kind, values, make = OPTIMIZERS["adamw"]
    case = Case(tmp_path, name, "f64")
    got = case.braid(kind, values, accumulate=micro_batches)
    case.check(got, make, values["lr"], accumulate=micro_batches)


@pytest.mark.parametrize("name", SIZES)
def test_state_dicts_exchange_both_ways(tmp_path, name):
    """Braid's state goes on in PyTorch, and the other way round."""
    case = Case(tmp_path, name, "f64")
    first = case.braid("sgd", {"lr": 0.1}, steps=1)
    other = models.make(name, torch.float64, seed=9, **SIZES[name])
    other.load_state_dict(first.state, strict=True)
    there = train(other, case.inputs, lambda p: torch.optim.SGD(p, lr=0.1), 1)
    again = save(tmp_path / "again.safetensors", first.state)
    here = run_step(
        cli_sizes(name), case.inputs_file, 1, "sgd", {"lr": 0.1}, tmp_path / "b",
        init=again, dtype="f64",
    )  # fmt: skip
    assert here.losses == pytest.approx(there.losses, rel=1e-12)
    other.load_state_dict(here.state, strict=True)
    assert set(here.grads) == {name for name, _ in other.named_parameters()}


@pytest.mark.parametrize("name", SIZES)
def test_dtype_is_taken_from_the_files(tmp_path, name):
    """float64 inputs, or where those are integers a float64 init, give float64."""
    case = Case(tmp_path, name, "f64")
    result = run_step(
        cli_sizes(name), case.inputs_file, 1, "sgd", {"lr": 0.1}, tmp_path / "o",
        init=case.init_file,
    )  # fmt: skip
    floats = [t.dtype for t in result.state.values() if t.is_floating_point()]
    assert set(floats) == {torch.float64}


def test_dropout_has_the_distribution_of_pytorch(tmp_path):
    """With lr 0 only the masks change; mean and spread of the losses agree."""
    sizes = {"features": 12, "hidden": 24, "layers": 1, "classes": 5, "dropout": 0.4}
    twin = models.make("mlp", torch.float64, **sizes)
    inputs = models.batch("mlp", torch.float64, size=4, **sizes)
    steps = 4000
    result = run_step(
        model_text("mlp", {k: v for k, v in sizes.items() if k not in TOLD}),
        save(tmp_path / "x.safetensors", inputs), steps, "sgd", {"lr": 0}, tmp_path / "o",
        init=save(tmp_path / "i.safetensors", twin.state_dict()),
    )  # fmt: skip
    torch.manual_seed(0)
    with torch.no_grad():
        there = torch.stack([twin(**inputs) for _ in range(steps)])
    here = torch.tensor(result.losses, dtype=torch.float64)
    spread = float(there.std())
    assert float(here.std()) == pytest.approx(spread, rel=0.1)
    assert float(here.mean()) == pytest.approx(
        float(there.mean()), abs=5 * spread * math.sqrt(2 / steps)
    )
    assert len(set(result.losses)) > 0.99 * steps


def test_default_initial_state_has_the_bounds_of_pytorch(tmp_path):
    sizes = SIZES["mlp"]
    inputs = save(tmp_path / "x.safetensors", models.batch("mlp", size=4, **sizes))
    result = run_step(cli_sizes("mlp"), inputs, 1, "sgd", {"lr": 0}, tmp_path / "o", seed=3)
    weight = result.state["layers.0.weight"]
    bound = 1 / math.sqrt(sizes["features"])
    assert bound * 0.9 < float(weight.abs().max()) <= bound
    assert float(weight.mean()) == pytest.approx(0, abs=0.1 * bound)
