"""Products of groups and counts as a module writes them, against PyTorch."""

import pytest
import torch
from braid_run import run_braid, run_step, save, step_args
from exporting import export
from torch import nn
from torch.nn import functional as F

ROWS, GROUPS, WIDTH = 16, 4, 8


def grouped_mm(a, b, ends=None):
    """torch.export knows it for bfloat16 alone."""
    return F.grouped_mm(a.bfloat16(), b.bfloat16(), offs=ends).float()


class Grouped(nn.Module):
    """Every form of grouped_mm that ATen has; where groups end comes from counts."""

    def __init__(self):
        super().__init__()
        self.experts = nn.Parameter(torch.randn(GROUPS, WIDTH, WIDTH) / 3)
        self.mix = nn.Parameter(torch.randn(WIDTH, ROWS) / 3)
        self.scale = nn.Parameter(torch.ones(GROUPS))

    def forward(self, x, group):
        counts = torch.bincount(group, minlength=GROUPS)
        torch._check(counts.shape[0] == GROUPS)
        ends = torch.cumsum(counts, 0, dtype=torch.int32)
        short = torch.cumsum(counts.to(torch.uint8), 0, dtype=torch.int16).sum(dtype=torch.int32)
        rows = grouped_mm(x, self.experts, ends)
        columns = grouped_mm(self.experts, self.mix, ends)
        sums = grouped_mm(columns, rows, ends)
        batches = grouped_mm(sums, self.experts)
        busy = (counts * self.scale).square().sum()
        # Every element counts in its own way, so that gradients lie dense in memory.
        weights = torch.linspace(-1, 1, batches.numel()).view(batches.shape)
        return (batches * weights).tanh().mean() + 1e-3 * busy * (1 + 0 * short)


@pytest.mark.parametrize("busy", [GROUPS, 1])
def test_every_form_is_that_of_pytorch(tmp_path, busy):
    torch.manual_seed(busy)
    module = Grouped()
    batch = {"x": torch.randn(ROWS, WIDTH), "group": torch.randint(busy, (ROWS,))}
    export(module, batch, tmp_path / "net.pt2")
    inputs = save(tmp_path / "batch.safetensors", batch)
    result = run_step(tmp_path / "net.pt2", inputs, 1, "sgd", {"lr": 0.1}, tmp_path / "out")
    loss = module(**batch)
    loss.backward()
    assert result.losses[0] == pytest.approx(loss.item(), rel=1e-3)
    for name, parameter in module.named_parameters():
        scale = parameter.grad.abs().max()
        assert (result.grads[name] - parameter.grad).abs().max() <= 1e-2 * scale, name


def test_a_number_beyond_the_counts_is_an_error(tmp_path):
    batch = {"x": torch.randn(ROWS, WIDTH), "group": torch.randint(GROUPS, (ROWS,))}
    export(Grouped(), batch, tmp_path / "net.pt2")
    batch["group"][3] = GROUPS
    inputs = save(tmp_path / "batch.safetensors", batch)
    words = step_args(tmp_path / "net.pt2", inputs, 1, "sgd", {"lr": 0.1}, tmp_path / "out")
    assert "out of bounds" in run_braid(*words, code=1).stderr


class Counted(nn.Module):
    """As many counts as the largest number says."""

    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(1))

    def forward(self, group):
        return torch.bincount(group).square().sum() * self.scale.sum()


def test_counts_whose_number_depends_on_data_are_refused(tmp_path):
    batch = {"group": torch.randint(GROUPS, (ROWS,))}
    export(Counted(), batch, tmp_path / "net.pt2")
    inputs = save(tmp_path / "batch.safetensors", batch)
    words = step_args(tmp_path / "net.pt2", inputs, 1, "sgd", {"lr": 0.1}, tmp_path / "out")
    message = run_braid(*words, code=1).stderr
    assert "depends on data" in message and "HINT" in message


class Ended(nn.Module):
    """The offsets are an input."""

    def __init__(self):
        super().__init__()
        self.experts = nn.Parameter(torch.randn(GROUPS, WIDTH, WIDTH))

    def forward(self, x, ends):
        return grouped_mm(x, self.experts, ends).square().mean()


def test_offsets_that_fall_are_an_error(tmp_path):
    batch = {"x": torch.randn(ROWS, WIDTH), "ends": torch.tensor([2, 5, 9, ROWS]).int()}
    export(Ended(), batch, tmp_path / "net.pt2")
    batch["ends"][1] = 1
    inputs = save(tmp_path / "batch.safetensors", batch)
    words = step_args(tmp_path / "net.pt2", inputs, 1, "sgd", {"lr": 0.1}, tmp_path / "out")
    message = run_braid(*words, code=2).stderr
    assert "group 1 ends at row 1, expected 2 to 16" in message
