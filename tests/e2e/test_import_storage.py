"""Tensors that share memory, and sizes that a file does not allow."""

import copy

import pytest
import torch
from braid_run import run_braid, run_step, save, step_args
from exporting import export
from measure import differences, nudged_runs, train
from test_dropout import as_run
from torch import nn
from torch.export import Dim
from torch.nn import functional as F

SGD = ("sgd", {"lr": 0.05})


class TiedBuffers(nn.Module):
    """One buffer under three names; all are read, two are written."""

    def __init__(self):
        super().__init__()
        self.fc, self.sub = nn.Linear(6, 4, dtype=torch.float64), nn.Module()
        self.register_buffer("a", torch.ones(4, dtype=torch.float64))
        self.register_buffer("b", self.a)
        self.sub.register_buffer("c", self.a)

    def forward(self, x):
        h = self.fc(x)
        self.b.add_(h.detach().mean(0))
        loss = (h * self.a.clone()).square().mean() + (self.sub.c.clone() * h).mean()
        self.a.mul_(0.5)
        return loss


class Parts(nn.Module):
    """Parameters that are parts of one storage, from these rows on."""

    def __init__(self, begin, trained=(True, True)):
        super().__init__()
        rows = torch.randn(6, 5)
        self.p = nn.Parameter(rows[:3], trained[0])
        self.q = nn.Parameter(rows[begin : begin + 3], trained[1])
        self.fc = nn.Linear(5, 5)

    def forward(self, x):
        return (self.fc(x) @ self.p.T).square().mean() + (x @ self.q.T).tanh().mean()


class Columns(nn.Module):
    """Every second column each: their ranges overlap, they do not."""

    def __init__(self):
        super().__init__()
        columns = torch.randn(5, 6)
        self.p = nn.Parameter(columns[:, ::2])
        self.q = nn.Parameter(columns[:, 1::2])

    def forward(self, x):
        return (x @ self.p).square().mean() + (x @ self.q).tanh().mean()


def check_training(folder, module, inputs):
    export(module, inputs, folder / "net.pt2")
    file = save(folder / "inputs.safetensors", inputs)
    result = run_step(folder / "net.pt2", file, 4, *SGD, folder / "out")
    args = (inputs, lambda p: torch.optim.SGD(p, lr=0.05), 4)
    expected = train(copy.deepcopy(module), *args)
    lines = differences(
        as_run(result), expected, nudged_runs(module, *args), 1e-9, 1e-9, 0.2
    )
    assert not lines, "\n".join(lines)


def test_tied_buffers_are_one(tmp_path):
    torch.manual_seed(0)
    check_training(tmp_path, TiedBuffers(), {"x": torch.randn(5, 6).double()})


@pytest.mark.parametrize("make", [lambda: Parts(3), Columns, lambda: Parts(2, (False, False))])
def test_parts_of_one_storage_train_apart(tmp_path, make):
    torch.manual_seed(0)
    x = torch.randn(4, 5)
    export(make(), {"x": x}, tmp_path / "net.pt2")
    file = save(tmp_path / "inputs.safetensors", {"x": x})
    run_step(tmp_path / "net.pt2", file, 2, *SGD, tmp_path / "out")


@pytest.mark.parametrize("trained", [(True, True), (True, False), (False, True)])
def test_parameters_that_overlap_are_refused(tmp_path, trained):
    export(Parts(2, trained), {"x": torch.randn(4, 5)}, tmp_path / "net.pt2")
    error = run_braid("inspect", tmp_path / "net.pt2", code=1).stderr
    assert "q: shares a part of its memory with 'p'" in error
    assert "HINT: keep the whole as one parameter" in error


class Sized(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(6, 4)

    def forward(self, x, y, z):
        return F.cross_entropy(self.fc(x) + z.sum(), y)


@pytest.fixture(scope="module")
def sized(tmp_path_factory):
    """2 to 64 samples, and one number more than two for each."""
    file = tmp_path_factory.mktemp("sized") / "net.pt2"
    batch = Dim("batch", min=2, max=64)
    args = (torch.randn(8, 6), torch.randint(4, (8,)), torch.randn(17))
    shapes = {"x": {0: batch}, "y": {0: batch}, "z": {0: 2 * batch + 1}}
    torch.export.save(torch.export.export(Sized(), args, dynamic_shapes=shapes), file)
    return file


@pytest.mark.parametrize("sizes, messages", [
    ((4, 4, 9), []),
    ((64, 64, 129), []),
    ((65, 65, 131), ["'x': dimension 0 is 65, the model was exported for 2 to 64", "'y'", "'z'",
                     "131", "5 to 129", "HINT: export with a wider range"]),
    ((1, 1, 3), ["'x': dimension 0 is 1, the model was exported for 2 to 64"]),
    ((8, 9, 17), ["'y': dimension 0 is 9, from the other inputs follows 8"]),
    ((8, 8, 18), ["'z': dimension 0 is 18, from the other inputs follows 17 (2*"]),
])  # fmt: skip
def test_sizes_are_those_that_the_export_allows(sized, tmp_path, sizes, messages):
    x, y, z = sizes
    tensors = {"x": torch.randn(x, 6), "y": torch.zeros(y, dtype=torch.int64), "z": torch.randn(z)}
    inputs = save(tmp_path / "inputs.safetensors", tensors)
    done = run_braid(
        *step_args(sized, inputs, 1, *SGD, tmp_path / "out"), code=1 if messages else 0
    )
    assert all(message in done.stderr for message in messages), done.stderr
    assert done.stderr.count("HINT") <= 1 and "do not fit" not in done.stderr
