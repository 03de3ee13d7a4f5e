"""Initial values follow the distributions of torch.nn and torch.nn.init."""

import math

import models
import pytest
import torch
from braid_run import model_text, run_braid, run_members, run_step, save, step_args
from safetensors.torch import load_file
from torch import nn

# One fair pair of samples in a thousand is farther apart than
# 1.95 * sqrt((n + m) / (n m)).
FAR = 1.95

SIZES = {
    "mlp": {"features": 50, "hidden": 120, "layers": 1, "classes": 60},
    "lenet": {"channels": 3, "side": 28, "classes": 10},
    "resblock": {"channels": 12, "blocks": 2, "classes": 10, "side": 8},
    "transformer": {"vocab": 90, "width": 48, "heads": 4, "layers": 2, "length": 20},
}
TOLD_BY_INPUTS = ("features", "side", "length")


def distance(a, b):
    """Kolmogorov and Smirnov's distance between two samples, over its limit."""
    a, b = a.flatten().sort().values, b.flatten().sort().values
    both = torch.cat([a, b])
    below = [torch.searchsorted(s, both, right=True) / len(s) for s in (a, b)]
    limit = FAR * math.sqrt((len(a) + len(b)) / (len(a) * len(b)))
    return float((below[0] - below[1]).abs().max()) / limit


def initial(folder, name, sizes, seed=0, *words):
    """The parameters and buffers before the first step: its rate is 0."""
    inputs = save(folder / "inputs.safetensors", models.batch(name, torch.float64, **sizes))
    text = model_text(name, {k: v for k, v in sizes.items() if k not in TOLD_BY_INPUTS})
    out = folder / f"out-{seed}"
    args = step_args(text, inputs, 1, "sgd", {"lr": 0}, out, seed=seed, threads=1)
    run_braid(*args, *words)
    return load_file(out / "state.safetensors")


@pytest.mark.parametrize("name", SIZES)
def test_defaults_are_those_of_torch(tmp_path, name):
    """Linear, Conv2d, Embedding, BatchNorm2d and LayerNorm, by the twins."""
    got = initial(tmp_path, name, SIZES[name])
    twin = models.make(name, torch.float64, seed=11, **SIZES[name])
    names = dict(twin.named_parameters())
    assert names.keys() <= got.keys()
    for parameter, tensor in names.items():
        if tensor.std() == 0 or tensor.numel() == 1:
            assert torch.equal(got[parameter], tensor), parameter
        else:
            assert distance(got[parameter], tensor) < 1, parameter


NAMED = {
    "xavier_uniform(gain=1.4)": lambda t: nn.init.xavier_uniform_(t, 1.4),
    "xavier_normal": nn.init.xavier_normal_,
    "kaiming_uniform(a=0.3)": lambda t: nn.init.kaiming_uniform_(t, 0.3),
    "kaiming_uniform(fan_out=1)": lambda t: nn.init.kaiming_uniform_(t, mode="fan_out"),
    "kaiming_normal": nn.init.kaiming_normal_,
    "kaiming_normal(a=1,fan_out=1)": lambda t: nn.init.kaiming_normal_(t, 1, "fan_out"),
    "orthogonal(gain=2)": lambda t: nn.init.orthogonal_(t, 2),
    "trunc_normal(mean=0.5,std=2,a=-1,b=1.5)": lambda t: nn.init.trunc_normal_(t, 0.5, 2, -1, 1.5),
    "normal(mean=1,std=0.5)": lambda t: nn.init.normal_(t, 1, 0.5),
    "uniform(low=-3,high=1)": lambda t: nn.init.uniform_(t, -3, 1),
}


@pytest.mark.parametrize("text", NAMED)
@pytest.mark.parametrize("layer", ["mlp layers.0.weight", "lenet conv2.weight"])
def test_named_initialisers_are_those_of_torch(tmp_path, text, layer):
    """On a matrix and on a convolution, whose kernel counts in the fans."""
    name, parameter = layer.split()
    default = initial(tmp_path, name, SIZES[name])
    got = initial(tmp_path, name, SIZES[name], 1, "--init-weights", f"{parameter}={text}")
    torch.manual_seed(5)
    want = NAMED[text](torch.empty_like(got[parameter]))
    assert distance(got[parameter], want) < 1
    for other in (got[parameter] * 1.25, default[parameter] * 3):
        assert distance(other, want) > 1, "the measure sees another scale"


def test_exact_ones(tmp_path):
    words = ["--init-weights", "*.weight=eye", "--init-weights", "*.bias=constant(value=0.5)"]
    got = initial(tmp_path, "mlp", SIZES["mlp"], 0, *words)
    assert torch.equal(got["head.weight"], torch.eye(60, 120, dtype=torch.float64))
    assert bool((got["head.bias"] == 0.5).all())
    got = initial(tmp_path, "lenet", SIZES["lenet"], 1, "--init-weights", "conv?.weight=dirac")
    assert torch.equal(got["conv2.weight"], nn.init.dirac_(torch.empty(16, 6, 5, 5)).double())


def test_orthogonal_rows_are_orthogonal(tmp_path):
    words = ["--init-weights", "*.weight=orthogonal(gain=3)"]
    got = initial(tmp_path, "mlp", SIZES["mlp"], 0, *words)
    for name in ("layers.0.weight", "head.weight"):
        m = got[name] if got[name].shape[0] <= got[name].shape[1] else got[name].T
        product = m @ m.T / 9
        assert float((product - torch.eye(len(m), dtype=torch.float64)).abs().max()) < 1e-12


def test_members_begin_as_they_would_alone(tmp_path):
    inputs = save(tmp_path / "x.safetensors", models.batch("mlp", **SIZES["mlp"]))
    members = tmp_path / "members.yaml"
    members.write_text("- {seed: 4}\n- {seed: 7}\n- {seed: 1}\n")
    options = {"threads": 1, "init_weights": "*.weight=orthogonal"}
    model = "mlp(hidden=20,layers=1,classes=60)"
    array = run_members(model, inputs, 1, "sgd", {"lr": 0}, tmp_path / "array",
                        members=members, **options)
    for k, seed in enumerate([4, 7, 1]):
        solo = run_step(model, inputs, 1, "sgd", {"lr": 0}, tmp_path / f"solo-{k}",
                        seed=seed, **options)
        for name, tensor in solo.state.items():
            assert torch.equal(array[k].state[name], tensor), name
