"""Traps that systems which fuse models have fallen into, each as a test.

An exported module is trained as an array whose members have weights, batches
and rates of their own; every member must be what plain PyTorch makes of it.
"""

import models
import pytest
import torch
from array_case import members_file
from array_trap import F64, STEPS, Trap, compare, drawn
from braid_run import run_members, run_step, save
from exporting import export
from measure import Run, clip_norm
from test_initialisers import NAMED
from torch import nn
from torch.nn import functional as F


class Words(nn.Module):
    def __init__(self, padding):
        super().__init__()
        self.table, self.head = nn.Embedding(7, 4, padding_idx=padding), nn.Linear(4, 3)

    def forward(self, x, y):
        return F.cross_entropy(self.head(self.table(x).sum(1)), y)


@pytest.mark.parametrize("padding", [0, 2, 6])
def test_embedding_with_padding_idx(tmp_path, padding):
    """Its row is zero and gets no gradient in every member, and no other is."""
    trap = Trap(tmp_path, lambda: Words(padding), lambda k: drawn(k, x=((9, 5), 7), y=((9,), 3)))
    results = trap.run()
    trap.check(results)
    for result in results:
        rows = result.grads["table.weight"].abs().sum(1)
        assert rows[padding] == 0 and (rows > 0).sum() == 6
        assert not result.state["table.weight"][padding].any()


class Slopes(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.each = nn.Conv2d(2, 6, 3), nn.PReLU(6)
        self.fc, self.one = nn.Linear(24, 5), nn.PReLU()

    def forward(self, x):
        return self.one(self.fc(self.each(self.conv(x)).flatten(1))).square().mean()


def test_prelu_weights(tmp_path):
    """One slope for all channels and one per channel, of each member."""
    trap = Trap(tmp_path, Slopes, lambda k: drawn(k, x=(3, 2, 4, 4)))
    results = trap.run()
    trap.check(results)
    for name in ("each.weight", "one.weight"):
        assert not torch.equal(results[0].state[name], results[1].state[name])


def initial_states(folder, words, seeds):
    """Weights by the seeds alone, of an array or, for one seed, without it."""
    inputs = save(folder / "x.safetensors", models.batch("lenet", size=2, channels=1, side=16))
    options = {"threads": 1} | words
    if len(seeds) == 1:
        out = folder / f"solo{seeds[0]}"
        return [run_step("lenet", inputs, 1, "sgd", {"lr": 0}, out, seed=seeds[0], **options).state]
    entries = members_file(folder / "seeds.yaml", [{"seed": s} for s in seeds])
    out = folder / "array"
    results = run_members("lenet", inputs, 1, "sgd", {"lr": 0}, out, members=entries, **options)
    return [result.state for result in results]


@pytest.mark.parametrize("kind", [None, *NAMED])
def test_initialisation_fan(tmp_path, kind):
    """Kernels and matrices begin as alone, bit by bit; B is in no fan."""
    words = {"init_weights": f"*.weight={kind}"} if kind else {}
    array = initial_states(tmp_path, words, [4, 9, 17])
    for place, seed in ((0, 4), (2, 17)):
        (solo,) = initial_states(tmp_path, words, [seed])
        assert all(torch.equal(array[place][name], solo[name]) for name in solo)
    assert kind or not torch.equal(array[0]["conv1.weight"], array[1]["conv1.weight"])


class Regression(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(5, 8), nn.Linear(8, 1)

    def forward(self, x):
        h = torch.tanh(self.a(x))
        decay = sum(p.square().mean() for p in self.parameters())
        return (self.b(h) - x.sum(1, keepdim=True)).square().mean() + h.square().mean() + decay


def test_step_lr_per_member(tmp_path):
    trap = Trap(tmp_path, Regression, lambda k: drawn(k, x=(6, 5)))
    sizes, gammas = [1, 2, 3], [0.5, 0.1, 0.9]
    steps = [f"step(step_size={s},gamma={g})" for s, g in zip(sizes, gammas, strict=True)]
    results = trap.run([{"schedule": text} for text in steps])
    for k, result in enumerate(results):

        def follow(optimizer, k=k):
            schedule = torch.optim.lr_scheduler.StepLR(optimizer, sizes[k], gammas[k])
            return lambda loss: schedule.step()

        compare(result, trap.eager(k, follow=follow), f"member {k}")


def test_mean_reduced_regularisers(tmp_path):
    """Means over a member's weights and activations, not over all members'."""
    trap = Trap(tmp_path, Regression, lambda k: drawn(k, x=(6, 5)))
    trap.check(trap.run())


class Counting(nn.Module):
    """BatchNorm, and what one with momentum=None keeps: torch cannot export
    the latter, which counts in Python."""

    def __init__(self):
        super().__init__()
        self.conv, self.norm = nn.Conv1d(2, 4, 3), nn.BatchNorm1d(4)
        self.register_buffer("all_time", torch.zeros(4))

    def forward(self, x):
        h = self.norm(self.conv(x).sigmoid())
        with torch.no_grad():
            share = 1 / self.norm.num_batches_tracked.to(h.dtype)
            self.all_time.lerp_(h.square().mean((0, 2)), share)
        return (h.square().sin() * self.all_time[:, None]).mean()


def test_batch_norm_counters(tmp_path):
    """Batches are counted per member, and so is the average over all time."""
    trap = Trap(tmp_path, Counting, lambda k: drawn(k, x=(3, 2, 6)))
    for k, weights in enumerate(trap.weights):
        weights["norm.num_batches_tracked"] = torch.tensor(4 * k)
    results = trap.run()
    trap.check(results)
    for k, result in enumerate(results):
        assert result.state["norm.num_batches_tracked"] == 4 * k + STEPS


def test_batch_norm_of_one_sample(tmp_path):
    trap = Trap(tmp_path, Counting, lambda k: drawn(k, x=(1, 2, 5)))
    trap.check(trap.run())


class Mask(nn.Module):
    """The loss is a number that tells which elements stayed."""

    def __init__(self):
        super().__init__()
        self.one = nn.Parameter(torch.ones(()))

    def forward(self, x):
        places = 2.0 ** torch.arange(24, dtype=x.dtype)
        return (F.dropout(x * self.one, 0.5, self.training) * places).sum()


def test_dropout_reproducibility(tmp_path):
    """The same masks alone and in any place of any array."""
    ones = {"x": torch.ones(24, dtype=F64)}
    inputs = save(tmp_path / "x.safetensors", ones)
    export(Mask().to(F64).train(), ones, tmp_path / "m.pt2")

    def losses(name, seeds):
        entries = members_file(tmp_path / f"{name}.yaml", [{"seed": s} for s in seeds])
        runs = run_members(
            tmp_path / "m.pt2", inputs, STEPS, "sgd", {"lr": 0}, tmp_path / name, members=entries
        )
        return [run.losses for run in runs]

    solo = run_step(
        tmp_path / "m.pt2", inputs, STEPS, "sgd", {"lr": 0}, tmp_path / "solo", seed=5
    ).losses
    assert len(set(solo)) == STEPS
    assert losses("two", [5, 1])[0] == solo
    five = losses("five", [8, 2, 1, 7, 5])
    assert five[4] == solo and five[0] != solo


class Downsampled(nn.Module):
    """A projection used twice; two layers with one weight and two biases."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Conv2d(4, 4, 3, padding=1), nn.Conv2d(4, 4, 3, padding=1)
        self.second.weight = self.first.weight
        self.down = nn.Conv2d(4, 4, 1)

    def forward(self, x):
        for conv in (self.first, self.second):
            x = F.avg_pool2d(torch.tanh(conv(x)) + self.down(x), 2)
        return x.square().mean()


def test_shared_downsample_weights(tmp_path):
    trap = Trap(tmp_path, Downsampled, lambda k: drawn(k, x=(2, 4, 8, 8)))
    results = trap.run()
    for k, result in enumerate(results):
        result.grads.pop("second.weight", None)
        compare(result, trap.eager(k), f"member {k}")
        assert torch.equal(result.state["first.weight"], result.state["second.weight"])
    assert not torch.equal(results[0].state["down.weight"], results[1].state["down.weight"])


def test_global_norm_clipping_across_members(tmp_path):
    """Huge gradients of one member clip nobody else."""

    def draw(k):
        return {"x": drawn(k, x=(6, 5))["x"] * (1e4 if k == 1 else 1)}

    trap = Trap(tmp_path, Regression, draw)
    trap.check(trap.run(values={"clip_norm": 0.5}), clip=clip_norm(0.5))
    quiet = Trap(tmp_path, Regression, lambda k: drawn(k, x=(6, 5)))
    quiet.weights = trap.weights
    loud, usual = (t.run(values={"clip_norm": 0.5}, name=n) for t, n in ((trap, "a"), (quiet, "b")))
    assert all(loud[k].raw() == usual[k].raw() for k in (0, 2))
    assert loud[1].raw() != usual[1].raw()


class StochasticDepth(nn.Module):
    """As torchvision writes it."""

    def __init__(self, rate, mode):
        super().__init__()
        self.stays, self.by_row = 1 - rate, mode == "row"

    def forward(self, x):
        shape = [x.shape[0] if self.by_row else 1] + [1] * (x.dim() - 1)
        return x * x.new_empty(shape).bernoulli_(self.stays).div_(self.stays)


class EveryKind(nn.Module):
    """All that drops, at one rate."""

    def __init__(self, rate):
        super().__init__()
        self.conv, self.rate = nn.Conv2d(3, 6, 3), rate
        self.plain, self.maps = nn.Dropout(rate), nn.Dropout2d(rate)
        self.alpha, self.alpha_maps = nn.AlphaDropout(rate), nn.FeatureAlphaDropout(rate)
        self.lstm = nn.LSTM(6, 6, 2, dropout=rate, batch_first=True)
        self.gru = nn.GRU(6, 6, 2, dropout=rate)
        self.weighed = nn.MultiheadAttention(6, 2, dropout=rate, batch_first=True)
        self.depth = StochasticDepth(rate, "row")
        self.whole = StochasticDepth(rate, "batch")

    def forward(self, x):
        h = self.alpha_maps(self.maps(self.conv(x)))
        h = self.alpha(h.flatten(2).transpose(1, 2))
        h = h + self.depth(self.gru(self.lstm(self.plain(h))[0])[0])
        h = h + self.whole(self.weighed(h, h, h)[0])
        return F.scaled_dot_product_attention(h, h, h, dropout_p=self.rate).square().mean()


def test_dropout_of_every_kind_per_member(tmp_path):
    """A member that sets its dropout is as a module made with that rate."""
    inputs = save(tmp_path / "x.safetensors", drawn(0, x=(4, 3, 5, 5)))
    solos = []
    for rate in (0.3, 0.5):
        torch.manual_seed(3)
        file = tmp_path / f"{rate}.pt2"
        export(EveryKind(rate).to(F64).train(), drawn(0, x=(4, 3, 5, 5)), file)
        solos.append(run_step(file, inputs, STEPS, "sgd", {}, tmp_path / f"{rate}", seed=2))
    entries = [{"seed": 2}, {"seed": 2, "dropout": 0.5}]
    results = run_members(
        tmp_path / "0.3.pt2", inputs, STEPS, "sgd", {}, tmp_path / "array",
        members=members_file(tmp_path / "m.yaml", entries),
    )  # fmt: skip
    for solo, result in zip(solos, results, strict=True):
        compare(result, Run(solo.losses, solo.grads, solo.state), solo.folder)
    assert solos[0].losses != solos[1].losses
