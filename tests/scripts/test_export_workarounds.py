"""What the export lets through that torch.export refuses, and what it says then."""

import sys
import types
from pathlib import Path

import pytest
import torch
from torch import nn
from torch._subclasses.fake_tensor import DataDependentOutputException, FakeTensorMode

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))
from exporting import ExportError, export  # noqa: E402
from exporting.workarounds import plain_ranges  # noqa: E402


class Depth(nn.Module):
    """Stochastic depth as transformers writes it."""

    def __init__(self, drop_prob=0.25):
        super().__init__()
        self.drop_prob = drop_prob

    def forward(self, hidden_states):
        if self.drop_prob == 0.0 or not self.training:
            return hidden_states
        keep_prob = 1 - self.drop_prob
        shape = (hidden_states.shape[0],) + (1,) * (hidden_states.ndim - 1)
        random_tensor = torch.rand(shape, dtype=hidden_states.dtype)
        return hidden_states.div(keep_prob) * torch.floor(random_tensor + keep_prob)


def test_stochastic_depth_is_drawn_with_coins():
    module = nn.Sequential(nn.Linear(4, 4), Depth())
    program = export(module, {"input": torch.ones(6, 4)}, dynamic=[0]).program
    targets = [str(n.target) for n in program.graph.nodes]
    assert "aten.bernoulli_.float" in targets and "aten.rand.default" not in targets
    assert "forward" not in vars(module[1])
    rows = program.module()(input=torch.ones(4000, 4)) / module[0](torch.ones(4000, 4))
    assert {round(row, 4) for row in rows[:, 0].tolist()} == {0.0, 1.3333}
    assert 0.2 < float((rows[:, 0] == 0).float().mean()) < 0.3


class Cached(nn.Linear):
    """A language model that gives something torch.export does not know."""

    def __init__(self):
        super().__init__(4, 4)
        self.config = types.SimpleNamespace(use_cache=True)

    def forward(self, input):
        result = {"logits": super().forward(input)}
        return result | {"cache": object()} if self.config.use_cache else result


def test_caches_are_left_out():
    module = Cached()
    done = export(module, {"input": torch.randn(2, 4)})
    assert done.notes == ["no cache of keys and values: use_cache is off"]
    assert module.config.use_cache is True


class Lists(nn.Linear):
    """Dimensions as a list of numbers, as losses of MONAI have them."""

    def forward(self, input):
        return super().forward(input).square().sum(torch.arange(1, input.dim()).tolist())


def test_ranges_may_become_lists():
    module, x = Lists(4, 3), torch.randn(2, 5, 4)
    program = export(module, {"input": x}, dynamic=[0]).program
    torch.testing.assert_close(program.module()(input=x), module(x))


def test_ranges_that_were_written_to_are_data():
    with FakeTensorMode(), plain_ranges():
        assert torch.arange(2, 4).tolist() == [2, 3]
        with pytest.raises(DataDependentOutputException):
            torch.arange(3).add_(1).tolist()


class UpTo(nn.Linear):
    def forward(self, input):
        y = super().forward(input)
        return y.contiguous() if input.shape[0] >= 64 else y


def test_sizes_that_forward_asks_for_are_bounded(tmp_path, capsys):
    done = export(UpTo(4, 3), {"input": torch.randn(5, 4)}, dynamic=[0])
    assert done.notes == [
        "dimension 0, here 5, may be 63 at most: forward does something else with other sizes"
    ]
    done.program.module()(input=torch.randn(63, 4))
    done = export(UpTo(4, 3), {"input": torch.randn(70, 4)}, dynamic=[0])
    assert "may be 64 at least" in done.notes[0]


class Masked(nn.Linear):
    def forward(self, input, mask):
        return super().forward(input) * mask


def test_sizes_of_one_are_fixed():
    inputs = {"input": torch.randn(5, 4), "mask": torch.ones(1, 3)}
    program = export(Masked(4, 3), inputs, dynamic=[0]).program
    program.module()(input=torch.randn(7, 4), mask=torch.ones(1, 3))
    with pytest.raises(ExportError, match="HINT: give an example of 2 or more"):
        export(nn.Linear(4, 3), {"input": torch.randn(1, 4)}, dynamic=[0])


class Fixed(nn.Linear):
    def forward(self, input):
        return super().forward(input) if input.shape[0] == 5 else input


class Branching(nn.Linear):
    def forward(self, input):
        return super().forward(input) if input.sum() > 0 else input


@pytest.mark.parametrize(
    "module, said", [(Fixed, "to be a constant (5)"), (Branching, "sum() > 0")]
)
def test_refusals_are_short(module, said, capfd):
    with pytest.raises(ExportError) as refused:
        export(module(4, 3), {"input": torch.randn(5, 4)}, dynamic=[0])
    assert said in str(refused.value) and len(str(refused.value).splitlines()) <= 5
    assert capfd.readouterr() == ("", "")
