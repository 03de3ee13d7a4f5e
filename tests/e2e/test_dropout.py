"""Imported models that drop: equal to PyTorch when it is given Braid's masks,
and the masks are what dropout promises."""

import copy
import itertools
import json
import math

import pytest
import torch
from braid_run import run_braid, run_members, run_step, save
from exporting import export
from masks import Injected, kept, rng_keys
from measure import Run, differences, nudged_runs, train
from modules.dropped import CASES
from reference import DTYPES, LIBRARIES, LONG, coarsest, eval_loss, optimizer
from test_import import TOLERANCE
from torch import nn

STEPS = 5
RATES = {"sgd": 0.05, "adamw": 1e-3}
CHOSEN = [
    (name, dtype)
    for name, dtype in itertools.product(CASES, DTYPES)
    if LONG or (CASES[name].quick and dtype == "f64")
]


def as_run(result):
    return Run(result.losses, result.grads, result.state)


class Dropped:
    """A module with dropout, its file and the keys of its draws."""

    def __init__(self, name, dtype, folder):
        self.case, self.dtype = CASES[name], DTYPES[dtype]
        self.module, self.inputs = self.case.module(self.dtype), self.case.tensors(self.dtype)
        self.file = folder / "module.pt2"
        program = export(self.module, self.inputs, self.file).program
        self.nudge_dtype = coarsest(program, self.dtype)
        self.inputs_file = save(folder / "inputs.safetensors", self.inputs)
        self.keys = rng_keys(self.file)

    def check(self, result, kind, lr, **draws):
        """A run of Braid against eager runs with its masks."""
        args = (self.inputs, optimizer(kind, lr)[1], STEPS)
        with Injected(self.keys, STEPS, **draws) as injected:
            expected = train(copy.deepcopy(self.module), *args)
            assert injected.draws == len(self.keys) * STEPS
            nudges = nudged_runs(self.module, *args, like=self.nudge_dtype)
        tolerance = TOLERANCE[self.dtype]
        lines = differences(as_run(result), expected, nudges, tolerance, tolerance, lr * STEPS)
        assert not lines, "\n".join(lines)


@pytest.fixture(scope="module", params=CHOSEN, ids="-".join)
def dropped(request, tmp_path_factory):
    try:
        return Dropped(*request.param, tmp_path_factory.mktemp("dropped"))
    except ModuleNotFoundError as error:
        if error.name not in LIBRARIES:
            raise
        pytest.skip(f"no {error.name}: pip install -r tests/e2e/requirements.txt")


@pytest.mark.parametrize("kind", RATES)
def test_with_the_same_masks_training_is_that_of_pytorch(dropped, tmp_path, kind):
    assert dropped.keys
    values, _ = optimizer(kind, RATES[kind])
    result = run_step(
        dropped.file, dropped.inputs_file, STEPS, kind, values, tmp_path / "out", seed=11
    )
    dropped.check(result, kind, RATES[kind], seed=11)


def test_members_have_the_masks_of_their_seeds(dropped, tmp_path):
    members = [{"seed": 11, "lr": 0.05}, {"seed": 2**40 + 3, "lr": 0.03}]
    file = tmp_path / "members.yaml"
    file.write_text("".join(f"- {json.dumps(member)}\n" for member in members))
    values, _ = optimizer("sgd", 0.05)
    results = run_members(
        dropped.file, dropped.inputs_file, STEPS, "sgd", values, tmp_path / "out", members=file
    )
    for member, result in zip(members, results, strict=True):
        dropped.check(result, "sgd", member["lr"], seed=member["seed"])


def test_eval_form_drops_nothing(dropped, tmp_path):
    run_braid(
        "step", dropped.file, "--inputs", dropped.inputs_file, "--form", "eval",
        "--out", tmp_path / "out",
    )  # fmt: skip
    (loss,) = json.loads((tmp_path / "out" / "losses.json").read_text())
    want = eval_loss(dropped.module, dropped.inputs)
    assert loss == pytest.approx(want, rel=TOLERANCE[dropped.nudge_dtype])


COUNT, RATE = 20000, 0.3


class Masks(nn.Module):
    """Its gradients are its masks."""

    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Parameter(torch.zeros(COUNT)), nn.Parameter(torch.zeros(COUNT))
        self.drop_a, self.drop_b = nn.Dropout(RATE), nn.Dropout(RATE)

    def forward(self, x):
        return (self.drop_a(self.a) + self.drop_b(self.b)).sum() * x.sum()


def masks_of(results):
    """What runs of 1, 2, ... steps with rate 1 say about the mask of each step."""
    masks, before = [], {"a": 0, "b": 0}
    for result in results:
        masks += [((before[n] - result.state[n]) * (1 - RATE)).round() for n in "ab"]
        before = result.state
    return masks


@pytest.fixture(scope="module")
def masks(tmp_path_factory):
    """Of 3 steps, 2 members and 2 layers, as Braid trains with them."""
    folder = tmp_path_factory.mktemp("masks")
    x = {"x": torch.ones(1)}
    export(Masks(), x, folder / "masks.pt2")
    inputs = save(folder / "x.safetensors", x)
    (folder / "members.yaml").write_text("- {seed: 1}\n- {seed: 2}\n")
    runs = [
        run_members(
            folder / "masks.pt2", inputs, steps, "sgd", {"lr": 1}, folder / f"{steps}",
            members=folder / "members.yaml",
        )
        for steps in (1, 2, 3)
    ]  # fmt: skip
    return [mask for member in zip(*runs, strict=True) for mask in masks_of(member)]


def is_share(hits, rate):
    """Whether this many of COUNT is likely: five standard deviations."""
    return abs(hits - COUNT * rate) <= 5 * math.sqrt(COUNT * rate * (1 - rate))


def test_masks_keep_what_the_rate_says(masks):
    for mask in masks:
        assert set(mask.unique().tolist()) == {0.0, 1.0}
        assert is_share(int(mask.sum()), 1 - RATE)


def test_masks_of_steps_members_and_layers_are_independent(masks):
    """Two of them, and neighbours in one, agree as often as chance says."""
    chance = RATE**2 + (1 - RATE) ** 2
    assert len(masks) == 12
    for a, b in itertools.combinations(masks, 2):
        assert is_share(int((a == b).sum()), chance)
    for mask in masks:
        assert is_share(int((mask == mask.roll(1)).sum()), chance)


def test_masks_are_those_that_the_key_says(masks, tmp_path):
    export(Masks(), {"x": torch.ones(1)}, tmp_path / "masks.pt2")
    keys = rng_keys(tmp_path / "masks.pt2")
    draws = itertools.product((1, 2), range(3), keys)  # members, steps, layers
    for mask, (seed, step, key) in zip(masks, draws, strict=True):
        assert torch.equal(mask.bool(), kept(COUNT, RATE, key, seed, step))


def test_micro_batches_have_masks_of_their_own(tmp_path):
    module = CASES["shared_layers"].module(torch.float64)
    inputs = {"x": torch.randn(12, 7).double(), "y": torch.randint(4, (12,))}
    export(module, inputs, tmp_path / "net.pt2", dynamic=[0])
    file = save(tmp_path / "inputs.safetensors", inputs)
    result = run_step(
        tmp_path / "net.pt2", file, STEPS, "sgd", {"lr": 0.05}, tmp_path / "out", accumulate=3
    )
    keys = rng_keys(tmp_path / "net.pt2")
    args = (inputs, lambda p: torch.optim.SGD(p, lr=0.05), STEPS)
    with Injected(keys, STEPS, accumulate=3):
        expected = train(copy.deepcopy(module), *args, accumulate=3)
        nudges = nudged_runs(module, *args, accumulate=3)
    assert not differences(as_run(result), expected, nudges, 1e-9, 1e-9, 0.05 * STEPS)
