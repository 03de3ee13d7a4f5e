"""The models of the zoo against plain PyTorch (mlp and lenet: test_parity).

Each run begins with the twin's weights, moved a little so that no layer is
still at zero or one, and dropout off. BRAID_TEST_LONG=1 runs every
combination; otherwise arrays train by one optimizer in float64, and variants
of a model in float64 only.
"""

import copy
import json
import math
import os
import re

import models
import pytest
import torch
from braid_run import model_text, run_braid, run_members, run_step, save
from measure import Run, differences, nudged_runs, train
from safetensors.torch import load_file
from test_initialisers import distance

LONG = bool(os.environ.get("BRAID_TEST_LONG"))
STEPS = 5
BATCH = 8
DTYPES = {"f64": torch.float64, "f32": torch.float32}
TOLERANCE = {"f64": (1e-9, 1e-9), "f32": (1e-4, 1e-4)}  # state and losses, gradients
RATES = [1.0, 0.3, 2.0]  # of members, times the optimizer's

TEXT = {"length": 6, "vocab": 13, "width": 8, "layers": 2, "dropout": 0}
HEADS = TEXT | {"heads": 2, "positions": 8, "feed": 12}
CLOUD = {"points": 12, "width": 4, "classes": 3}
PATCHES = {"side": 8, "patch": 4, "width": 8, "heads": 2, "layers": 2, "dropout": 0}
# Model, rate of SGD, sizes. BatchNorm over few samples makes rounding grow, so
# those models learn slowly here.
ROWS = {
    "resnet18": ("resnet18", 2e-3, {"side": 33, "width": 4, "classes": 5}),
    "resnet18_small": (
        "resnet18", 2e-3, {"side": 17, "width": 4, "classes": 5, "small_stem": 1}
    ),
    "resnet50": ("resnet50", 5e-4, {"side": 33, "width": 3, "classes": 5}),
    "mobilenet": (
        "mobilenet_v3_large", 2e-3, {"side": 33, "width": 0.2, "classes": 5, "dropout": 0}
    ),
    "vit": ("vit", 0.05, PATCHES | {"classes": 5}),
    "pointnet_cls": ("pointnet_cls", 2e-3, CLOUD | {"regulariser": 0.1, "dropout": 0}),
    "pointnet_seg": ("pointnet_seg", 2e-3, CLOUD | {"regulariser": 0.1}),
    "pointnet_plain": (
        "pointnet_cls", 2e-3, CLOUD | {"coordinates": 4, "feature_transform": 0, "dropout": 0}
    ),
    "dcgan_generator": ("dcgan_generator", 0.5, {"side": 16, "width": 3, "latent": 6}),
    "dcgan_discriminator": ("dcgan_discriminator", 0.05, {"side": 16, "width": 4}),
    "transformer_lm": ("transformer_lm", 0.05, HEADS),
    "transformer_lm_untied": ("transformer_lm", 0.05, HEADS | {"tied": 0}),
    "bert": ("bert", 0.05, HEADS | {"attention_dropout": 0}),
    "gpt2": ("gpt2", 0.05, HEADS | {"attention_dropout": 0}),
    "lstm_lm": ("lstm_lm", 0.5, TEXT | {"hidden": 7}),
    "lstm_lm_tied": ("lstm_lm", 0.5, TEXT | {"hidden": 8, "tied": 1}),
}  # fmt: skip

OPTIMIZERS = {
    "sgd": (torch.optim.SGD, {"momentum": 0.9}),
    "adamw": (torch.optim.AdamW, {"weight_decay": 0.05}),
}
ADAMW_RATE = 1e-3


def moved(twin):
    """The twin with weights of its own everywhere; residual branches are weak,
    or fifty layers of them amplify rounding."""
    generator = torch.Generator().manual_seed(5)
    with torch.no_grad():
        for name, parameter in twin.named_parameters():
            noise = torch.randn(parameter.shape, generator=generator, dtype=torch.float64)
            parameter.add_(0.05 * noise.to(parameter.dtype))
            if re.fullmatch(r"layer\d\.\d\.bn[23]\.weight", name):
                parameter.mul_(0.2)
    return twin


def apart(tensors):
    """Tied tensors as copies: a file has each by itself."""
    return {name: t.detach().clone() for name, t in tensors.items()}


class Case:
    """A twin, its batch and both as files."""

    def __init__(self, folder, row, dtype):
        name, self.sgd_rate, sizes = ROWS[row]
        self.folder, self.dtype = folder, dtype
        self.text = model_text(name, sizes)
        self.twin = moved(models.make(name, DTYPES[dtype], **sizes))
        self.inputs = models.batch(name, DTYPES[dtype], size=BATCH, **sizes)
        self.inputs_file = save(folder / "inputs.safetensors", self.inputs)
        self.init_file = save(folder / "init.safetensors", apart(self.twin.state_dict()))

    def values(self, optimizer, rate=1.0):
        lr = rate * (self.sgd_rate if optimizer == "sgd" else ADAMW_RATE)
        return {"lr": lr} | OPTIMIZERS[optimizer][1]

    def solo(self, optimizer, steps=STEPS, out="out", init=None):
        return run_step(
            self.text, self.inputs_file, steps, optimizer, self.values(optimizer),
            self.folder / out, init=init or self.init_file, dtype=self.dtype, threads=1,
        )  # fmt: skip

    def array(self, optimizer):
        """Members with the same weights and rates of their own."""
        members = self.folder / "members.yaml"
        rates = [self.values(optimizer, rate)["lr"] for rate in RATES]
        members.write_text("".join(f"- {json.dumps({'lr': lr})}\n" for lr in rates))
        return run_members(
            self.text, self.inputs_file, STEPS, optimizer, self.values(optimizer),
            self.folder / "array", init=self.init_file, members=members, dtype=self.dtype,
            threads=1,
        )  # fmt: skip

    def check(self, result, optimizer, rate=1.0):
        values = self.values(optimizer, rate)
        args = (self.inputs, lambda p: OPTIMIZERS[optimizer][0](p, **values), STEPS)
        expected = train(copy.deepcopy(self.twin), *args)
        nudges = nudged_runs(self.twin, *args)
        got = Run(result.losses, result.grads, result.state)
        lines = differences(got, expected, nudges, *TOLERANCE[self.dtype], values["lr"] * STEPS)
        assert not lines, "\n".join(lines)
        assert abs(expected.losses[0] - expected.losses[-1]) > 1e-4, "nothing was learned"


VARIANTS = {"pointnet_plain", "transformer_lm_untied", "lstm_lm_tied"}
SOLOS = [(r, d) for r in ROWS for d in DTYPES if LONG or d == "f64" or r not in VARIANTS]


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("row, dtype", SOLOS)
def test_five_steps(tmp_path, row, dtype, optimizer):
    case = Case(tmp_path, row, dtype)
    case.check(case.solo(optimizer), optimizer)


ARRAYS = [("f64", "sgd")] + ([("f64", "adamw"), ("f32", "sgd"), ("f32", "adamw")] if LONG else [])


@pytest.mark.parametrize("dtype, optimizer", ARRAYS)
@pytest.mark.parametrize("row", ROWS)
def test_an_array_of_three_rates(tmp_path, row, dtype, optimizer):
    case = Case(tmp_path, row, dtype)
    runs = case.array(optimizer)
    assert len(runs) == len(RATES)
    for run, rate in zip(runs, RATES, strict=True):
        case.check(run, optimizer, rate)


@pytest.mark.parametrize("row", ROWS)
def test_state_dicts_exchange_both_ways(tmp_path, row):
    """A step of rate 0 from PyTorch's state, and its result back in PyTorch."""
    case = Case(tmp_path, row, "f64")
    case.sgd_rate = 0
    here = case.solo("sgd", steps=1)
    name, _, sizes = ROWS[row]
    other = models.make(name, torch.float64, seed=9, **sizes)
    assert other(**case.inputs).item() != pytest.approx(here.losses[0], rel=1e-6)
    other.load_state_dict(here.state, strict=True)
    assert other(**case.inputs).item() == pytest.approx(here.losses[0], rel=1e-9)
    assert {n: (t.dtype, t.shape) for n, t in here.state.items()} == {
        n: (t.dtype, t.shape) for n, t in other.state_dict().items()
    }


DROPPING = {
    "vit": {"dropout": 0.2, "attention_dropout": 0.3},
    "pointnet_cls": {"dropout": 0.4},
    "transformer_lm": {"dropout": 0.3},
    "bert": {"dropout": 0.2, "attention_dropout": 0.4},
    "gpt2": {"dropout": 0.2, "attention_dropout": 0.4},
    "lstm_lm": {"dropout": 0.4},
}


@pytest.mark.parametrize("row", DROPPING if LONG else ["bert", "lstm_lm"])
def test_dropout_has_the_distribution_of_the_twin(tmp_path, monkeypatch, row):
    """With rate 0 only the masks change; mean and spread of the losses agree."""
    name, _, sizes = ROWS[row]
    monkeypatch.setitem(ROWS, row, (name, 0, sizes | DROPPING[row]))
    case = Case(tmp_path, row, "f64")
    steps = 1000
    here = torch.tensor(case.solo("sgd", steps=steps).losses, dtype=torch.float64)
    torch.manual_seed(1)
    with torch.no_grad():
        there = torch.stack([case.twin(**case.inputs) for _ in range(steps)])
    spread = float(there.std())
    assert float(here.std()) == pytest.approx(spread, rel=0.15)
    far = 5 * spread * math.sqrt(2 / steps)
    assert float(here.mean()) == pytest.approx(float(there.mean()), abs=far)
    case.twin.eval()
    with torch.no_grad():
        assert spread > 1e-4 * float(case.twin(**case.inputs)), "nothing was dropped"


SLOT = re.compile(r'^slot "([^"]+)" (\w+)\[([\d, ]*)\] (?:parameter|buffer) \S+.*$', re.M)


def printed_state(text):
    """Names and shapes of parameters and buffers in a graph's text."""
    state = {}
    for match in SLOT.finditer(text):
        shape = tuple(int(n) for n in match[3].split(",") if n.strip())
        for name in [match[1], *re.findall(r'alias="([^"]+)"', match[0])]:
            state[name] = shape
    return state


def test_every_model_has_a_twin():
    listed = run_braid("inspect", "--help").stdout.partition("Models:")[2]
    names = re.findall(r"^  (\w+)\(", listed.partition("Optimizers:")[0], re.M)
    assert set(names) == set(models.ALL)
    assert {name for name, _, _ in ROWS.values()} == set(models.ZOO) == set(INITIAL)


@pytest.mark.parametrize("name", models.ALL)
def test_full_size_states_have_the_names_and_shapes_of_the_twin(name):
    """At default sizes, which therefore agree, too; nothing is computed."""
    text = run_braid("inspect", name, "--dump-after", "forward").stdout
    with torch.device("meta"):
        twin = models.ALL[name]()
    assert printed_state(text) == {n: tuple(t.shape) for n, t in twin.state_dict().items()}


# Wide enough to tell distributions apart.
WIDE = {"vocab": 60, "width": 24, "layers": 3, "dropout": 0}
WIDE_HEADS = WIDE | {"length": 4, "positions": 30, "heads": 2}
INITIAL = {
    "resnet18": {"side": 32, "width": 8, "classes": 40},
    "resnet50": {"side": 32, "width": 4, "classes": 40},
    "mobilenet_v3_large": {"side": 32, "width": 0.3, "classes": 40},
    "vit": {"side": 32, "patch": 8, "width": 24, "heads": 2, "layers": 2, "classes": 40},
    "pointnet_cls": {"points": 8, "width": 8, "classes": 40},
    "pointnet_seg": {"points": 8, "width": 8, "classes": 40},
    "dcgan_generator": {"side": 16, "width": 16, "latent": 20},
    "dcgan_discriminator": {"side": 32, "width": 8},
    "transformer_lm": WIDE_HEADS | {"tied": 0},
    "bert": WIDE_HEADS,
    "gpt2": WIDE_HEADS,
    "lstm_lm": WIDE | {"length": 4, "hidden": 20},
}


def initial_state(folder, name, sizes):
    inputs = save(folder / "x.safetensors", models.batch(name, torch.float64, size=2, **sizes))
    out = folder / "out"
    words = ["step", model_text(name, sizes), "--inputs", inputs, "--steps", 1, "--set", "lr=0"]
    words += ["--optimizer", "sgd", "--dtype", "f64", "--seed", 3, "--threads", 1, "--out", out]
    run_braid(*words)
    return load_file(out / "state.safetensors")


@pytest.mark.parametrize("name", INITIAL)
def test_initial_values_have_the_distribution_of_the_twin(tmp_path, name):
    sizes = INITIAL[name]
    got = initial_state(tmp_path, name, sizes)
    twin = models.make(name, torch.float64, seed=11, **sizes)
    told = 0
    for parameter, tensor in twin.named_parameters():
        if tensor.std() == 0 or tensor.numel() == 1:
            assert torch.equal(got[parameter], tensor), parameter
            continue
        assert distance(got[parameter], tensor) < 1.3, parameter
        told += tensor.numel() > 400 and distance(got[parameter] * 1.5, tensor) > 1.3
    assert told >= 2, "the measure sees another scale"
