"""Every optimizer against torch.optim over 200 steps, in float64."""

import pytest
import torch
from braid_run import run_members, run_step
from measure import assert_near, far, train
from mlp_files import MODEL, write_mlp

STEPS = 200
LIMIT = 1e-11
BETAS = {"beta1": 0.85, "beta2": 0.98}


class Lion(torch.optim.Optimizer):
    """By the formula of its paper (Chen et al., 2023)."""

    def __init__(self, parameters, lr, betas, weight_decay):
        super().__init__(parameters, {"lr": lr, "betas": betas, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                m = self.state[p].setdefault("m", torch.zeros_like(p))
                beta1, beta2 = group["betas"]
                direction = torch.sign(beta1 * m + (1 - beta1) * p.grad)
                p.mul_(1 - group["lr"] * group["weight_decay"])
                p.sub_(direction, alpha=group["lr"])
                m.mul_(beta2).add_(p.grad, alpha=1 - beta2)


def with_betas(kind, values):
    """braid's beta1, beta2 as torch's betas; flags by their torch names."""
    torch_values = {k: v for k, v in values.items() if k not in ("beta1", "beta2")}
    if "beta1" in values:
        torch_values["betas"] = (values["beta1"], values["beta2"])
    if "decoupled" in torch_values:
        torch_values["decoupled_weight_decay"] = torch_values.pop("decoupled")
    return lambda p: kind(p, **torch_values)


CASES = {
    "sgd": ("sgd", torch.optim.SGD, {"lr": 0.05}),
    "sgd-decay": ("sgd", torch.optim.SGD, {"lr": 0.05, "weight_decay": 0.02}),
    "sgd-momentum": ("sgd", torch.optim.SGD, {"lr": 0.02, "momentum": 0.9, "dampening": 0.3}),
    "sgd-nesterov": ("sgd", torch.optim.SGD, {"lr": 0.02, "momentum": 0.8, "nesterov": True}),
    "adam": ("adam", torch.optim.Adam, {"lr": 0.01, "weight_decay": 0.02, **BETAS}),
    "amsgrad": ("adam", torch.optim.Adam, {"lr": 0.01, "amsgrad": True, "eps": 1e-6}),
    "adamw": ("adamw", torch.optim.AdamW, {"lr": 0.01, "weight_decay": 0.1, **BETAS}),
    "adadelta": ("adadelta", torch.optim.Adadelta, {"lr": 0.7, "rho": 0.8, "weight_decay": 0.01}),
    "adagrad": (
        "adagrad",
        torch.optim.Adagrad,
        {"lr": 0.05, "lr_decay": 0.01, "weight_decay": 0.01, "eps": 1e-8},
    ),
    "rmsprop": ("rmsprop", torch.optim.RMSprop, {"lr": 0.005, "alpha": 0.9}),
    "rmsprop-all": (
        "rmsprop",
        torch.optim.RMSprop,
        {"lr": 0.002, "momentum": 0.8, "centered": True, "weight_decay": 0.01},
    ),
    "nadam": ("nadam", torch.optim.NAdam, {"lr": 0.01, "weight_decay": 0.01, **BETAS}),
    "nadam-decoupled": ("nadam", torch.optim.NAdam, {"lr": 0.01, "decoupled": True,
                                                     "weight_decay": 0.05}),
    "radam": ("radam", torch.optim.RAdam, {"lr": 0.01, "weight_decay": 0.01}),
    "radam-decoupled": ("radam", torch.optim.RAdam, {"lr": 0.01, "decoupled": True,
                                                     "weight_decay": 0.05, "beta2": 0.95,
                                                     "beta1": 0.9}),
    "lion": ("lion", Lion, {"lr": 0.002, "weight_decay": 0.1, "beta1": 0.9, "beta2": 0.95}),
}


@pytest.fixture(autouse=True)
def exact_scalars():
    """torch keeps NAdam's product of momenta in the default dtype: in float32 it
    moves parameters by 1.3e-9 in 200 steps, in float64 they answer nudges of one
    unit in the last place with 1e-15."""
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


@pytest.fixture(name="files")
def make_files(tmp_path):
    return write_mlp(tmp_path)


@pytest.mark.parametrize("name", CASES)
def test_optimizer_follows_torch_for_200_steps(files, name):
    folder, twin, inputs = files
    kind, torch_kind, values = CASES[name]
    got = run_step(MODEL, folder / "inputs.safetensors", STEPS, kind, values, folder / "out",
                   init=folder / "init.safetensors", threads=1)
    want = train(twin, inputs, with_betas(torch_kind, values), STEPS)
    assert_near(got, want, LIMIT)


KINDS = ["adam", "adadelta", "adagrad", "rmsprop", "nadam", "radam", "lion"]


@pytest.mark.parametrize("kind", KINDS)
def test_members_of_every_optimizer_equal_their_solo_runs(files, kind):
    folder, _, _ = files
    inputs = folder / "inputs.safetensors"
    rates = [0.01, 0.003, 0.02]
    members = folder / "members.yaml"
    members.write_text("\n".join(f"- {{seed: {k}, lr: {lr}}}" for k, lr in enumerate(rates)))
    array = run_members(MODEL, inputs, 20, kind, {}, folder / "array", members=members, threads=1)
    for k, lr in enumerate(rates):
        solo = run_step(MODEL, inputs, 20, kind, {"lr": lr}, folder / f"solo{k}", seed=k, threads=1)
        for parameter, tensor in solo.state.items():
            assert far(array[k].state[parameter], tensor) < 1e-9, parameter
