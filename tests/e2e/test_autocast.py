"""torch.autocast in exported models: the same types, so the same rounding.

The scale of what is allowed is measured, as in test_precision: how far the
module with autocast ends from itself without. Braid must be much nearer.
"""

import copy
import re

import pytest
import torch
from braid_run import run_braid, run_members, run_step, save
from exporting import export
from measure import train
from test_precision import distance, grad_distance
from torch import nn
from torch.nn import functional as F

STEPS = 10
# PyTorch's fused attention and recurrent layers keep float32 where others round.
NEAR = {"Convolutions": 0.01, "Products": 0.6, "Steps": 0.8}
NARROW = {"bf16": torch.bfloat16, "f16": torch.float16}


class Region(nn.Module):
    """A module that works in `narrow`, or in float32 when that is None."""

    narrow = torch.bfloat16

    def autocast(self):
        return torch.autocast("cpu", self.narrow, enabled=self.narrow is not None)


class Convolutions(Region):
    """A norm with wide statistics, an in-place operator, a loss outside."""

    def __init__(self):
        super().__init__()
        self.conv, self.norm = nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8)
        self.up, self.head = nn.ConvTranspose2d(8, 6, 2, stride=2), nn.Linear(6, 4)

    def forward(self, x, y):
        with self.autocast():
            h = F.relu_(self.norm(self.conv(x)))
            h = F.group_norm(self.up(h), 2).mean((2, 3))
            h = self.head(h)
        return F.cross_entropy(h.float(), y)


class Products(Region):
    """Every kind of product, softmax, sums and wide values in between."""

    def __init__(self):
        super().__init__()
        self.wide, self.norm = nn.Linear(16, 24), nn.LayerNorm(24)
        self.w = nn.Parameter(torch.randn(4, 6, 6) / 3)
        self.scale = nn.Parameter(torch.tensor(1.1))
        self.head = nn.Linear(24, 4)

    def forward(self, x, y):
        with self.autocast():
            h = self.norm(self.wide(x.flatten(1)[:, :16])).view(-1, 4, 6)
            h = h + torch.einsum("bij,ikj->bik", h, self.w)
            h = F.scaled_dot_product_attention(h, h * self.scale, h)
            h = torch.softmax(h @ self.w[0], -1) + torch.bmm(h, self.w[:1].expand(len(h), 6, 6))
            with torch.autocast("cpu", enabled=False):
                h = h.float() @ self.w[1]
            loss = F.cross_entropy(self.head(h.flatten(1)).float(), y)
            return loss + 0.1 * F.mse_loss(h, torch.zeros_like(h)) + 0.01 * h.exp().sum().log()


class Steps(Region):
    def __init__(self):
        super().__init__()
        self.lstm, self.head = nn.LSTM(8, 12, 2, batch_first=True), nn.Linear(12, 4)

    def forward(self, x, y):
        with self.autocast():
            h, _ = self.lstm(x.flatten(2)[:, :, :8])
            return F.cross_entropy(self.head(h[:, -1]), y)


MODULES = {module.__name__: module for module in (Convolutions, Products, Steps)}


def batch():
    return {
        "x": torch.randn(8, 3, 6, 6, generator=torch.Generator().manual_seed(1)),
        "y": torch.randint(4, (8,), generator=torch.Generator().manual_seed(2)),
    }


class Case:
    def __init__(self, folder, name, narrow=torch.bfloat16):
        torch.manual_seed(0)
        self.folder, self.near, self.inputs = folder, NEAR[name], batch()
        self.module = MODULES[name]()
        self.module.narrow = narrow
        self.file = folder / "net.pt2"
        export(self.module, self.inputs, self.file)
        self.inputs_file = save(folder / "inputs.safetensors", self.inputs)

    def torch(self, narrow, lr=0.05):
        twin = copy.deepcopy(self.module)
        twin.narrow = narrow
        return train(twin, self.inputs, lambda p: torch.optim.SGD(p, lr=lr), STEPS)

    def check(self, got, lr=0.05):
        want, full = self.torch(self.module.narrow, lr), self.torch(None, lr)
        scale = grad_distance(want.grads, full.grads)
        assert 0 < grad_distance(got.grads, want.grads) <= self.near * scale
        assert distance(got.losses, want.losses) <= 2 * distance(want.losses, full.losses)
        types = {name: tensor.dtype for name, tensor in want.state.items()}
        assert {name: tensor.dtype for name, tensor in got.state.items()} == types


@pytest.mark.parametrize("name, narrow", [
    ("Convolutions", "bf16"), ("Convolutions", "f16"), ("Products", "bf16"), ("Products", "f16"),
    ("Steps", "bf16"),  # PyTorch has no LSTM in float16 on a CPU
])  # fmt: skip
def test_regions_keep_their_types(tmp_path, name, narrow):
    case = Case(tmp_path, name, NARROW[narrow])
    got = run_step(case.file, case.inputs_file, STEPS, "sgd", {"lr": 0.05}, tmp_path / "out")
    case.check(got)


def test_regions_in_an_array(tmp_path):
    case = Case(tmp_path, "Convolutions")
    (tmp_path / "members.yaml").write_text("- {lr: 0.05}\n- {lr: 0.01}\n")
    results = run_members(
        case.file, case.inputs_file, STEPS, "sgd", {}, tmp_path / "out",
        members=tmp_path / "members.yaml",
    )  # fmt: skip
    for lr, result in zip((0.05, 0.01), results, strict=True):
        case.check(result, lr)


class Plain(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.norm, self.head = nn.Linear(8, 16), nn.LayerNorm(16), nn.Linear(16, 4)

    def forward(self, x, y):
        return F.cross_entropy(self.head(self.norm(self.body(x).relu())), y)


def test_a_model_exported_under_autocast_stays_so(tmp_path):
    """The file has no region, only the types of results."""
    torch.manual_seed(0)
    module = Plain()
    inputs = {"x": torch.randn(8, 8), "y": torch.randint(4, (8,))}
    with torch.autocast("cpu", torch.bfloat16):
        export(module, inputs, tmp_path / "net.pt2")
        want = train(copy.deepcopy(module), inputs, lambda p: torch.optim.SGD(p, lr=0.1), 1)
    full = train(copy.deepcopy(module), inputs, lambda p: torch.optim.SGD(p, lr=0.1), 1)
    file = save(tmp_path / "inputs.safetensors", inputs)
    got = run_step(tmp_path / "net.pt2", file, 1, "sgd", {"lr": 0.1}, tmp_path / "out")
    scale = grad_distance(want.grads, full.grads)
    assert 0 < grad_distance(got.grads, want.grads) <= 0.5 * scale
    text = run_braid("inspect", tmp_path / "net.pt2", "--dump-after", "forward").stdout
    assert len(re.findall(r"bf16\[.*\] = linear\(", text)) == 2
