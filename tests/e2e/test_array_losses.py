"""Losses of the members of an array: each its own rows, weights and values."""

import pytest
import torch
from array_trap import F64, STEPS, Trap, compare, drawn
from job_run import train as train_job
from torch import nn
from torch.nn import functional as F
from train_jobs import BASE, write_table


class Classes(nn.Module):
    def __init__(self, smoothing=0.0, reduction="mean"):
        super().__init__()
        self.fc, self.smoothing, self.reduction = nn.Linear(4, 5), smoothing, reduction
        self.register_buffer("weight", torch.tensor([1.0, 0.5, 2.0, 0.1, 3.0]))

    def loss(self, scores, y):
        return F.cross_entropy(scores, y, label_smoothing=self.smoothing)

    def forward(self, x, y):
        return self.loss(self.fc(x), y)


def labelled(k, rows=8):
    """Members leave out different numbers of rows."""
    tensors = drawn(k, x=(rows, 4), y=((rows,), 5))
    tensors["y"][: 2 * k + 1] = -100
    return tensors


def test_mean_reduced_losses_with_ignore_index(tmp_path):
    """Each mean is over the rows that count for that member."""
    trap = Trap(tmp_path, Classes, labelled)
    trap.check(trap.run())


def test_a_member_whose_rows_are_all_left_out(tmp_path):
    def draw(k):
        tensors = labelled(k)
        return tensors | {"y": torch.full((8,), -100)} if k == 1 else tensors

    trap = Trap(tmp_path, Classes, draw)
    results = trap.run(code=1)
    assert results[1].losses == [None] * STEPS
    for k in (0, 2):
        compare(results[k], trap.eager(k), f"member {k}")


class Coins(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 1)

    def forward(self, x):
        p = torch.sigmoid(self.fc(x))
        return F.binary_cross_entropy(p, (x[:, :1] > 0).to(x.dtype))


def test_a_probability_that_is_nan_stops_nobody(tmp_path):
    """PyTorch raises where one is; the other members go on."""

    def draw(k):
        return {"x": drawn(k, x=(8, 4))["x"] * (float("nan") if k == 1 else 1)}

    trap = Trap(tmp_path, Coins, draw)
    results = trap.run(code=1)
    assert results[1].losses == [None] * STEPS
    for k in (0, 2):
        compare(results[k], trap.eager(k), f"member {k}")


class Weighted(Classes):
    def loss(self, scores, y):
        return F.cross_entropy(scores, y, self.weight, label_smoothing=self.smoothing)


@pytest.mark.parametrize("smoothing", [0.0, 0.2])
def test_weighted_cross_entropy(tmp_path, smoothing):
    """Classes weigh differently in every member."""
    trap = Trap(tmp_path, lambda: Weighted(smoothing), labelled)
    for k, weights in enumerate(trap.weights):
        weights["weight"] = weights["weight"] * torch.linspace(1, 1 + k, 5, dtype=F64)
    trap.check(trap.run())


@pytest.mark.parametrize("kind", [Classes, Weighted])
def test_label_smoothing_per_member(tmp_path, kind):
    """The file's own, none and another; only the last two are set."""
    trap = Trap(tmp_path, lambda: kind(0.1), labelled)
    values = [0.1, 0.0, 0.35]
    results = trap.run([{}, {"label_smoothing": 0.0}, {"label_smoothing": 0.35}])
    for k, result in enumerate(results):
        trap.module.smoothing = values[k]
        compare(result, trap.eager(k), f"member {k}")


def test_label_smoothing_of_a_job_is_a_value(tmp_path):
    """So that jobs that differ in nothing else may be one array."""
    write_table(tmp_path / "table.csv")
    job = BASE | {"loss": "cross_entropy(label_smoothing=0.2)", "checkpoint": {"every": 1}}
    state = train_job(tmp_path, job).state("state")
    assert state["hyper/loss.label_smoothing"] == 0.2
