"""Exported models under plans: not a bit changes, whatever is decided about each
segment, and what was predicted is what is taken.
"""

import json
import os
import random
from dataclasses import dataclass
from pathlib import Path

import pytest
import torch
from braid_run import run_braid, run_step, save, step_args
from exporting import export
from measure import train
from reference import build
from torch import nn
from torch.nn import functional as F

LONG = bool(os.environ.get("BRAID_TEST_LONG"))
SEED = int(os.environ.get("BRAID_TEST_SEED", "0"))
STEPS = 3
PLANS = 50 if LONG else 3
CHOICES = [
    ["keep", "recompute", "offload"],
    ["resident", "spilled", "file"],
    ["device", "host", "host_file", "host_ahead"],
]
LIBRARY = [
    "timm_resnet", "lstm_tagger", "gpt2", "bert_masked_lm", "t5", "mixtral_grouped", "unet",
]  # fmt: skip


class Remembering(nn.Module):
    """A buffer that is read, changed, and read again, with more between than a sum."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(6, 8), nn.Linear(8, 4)
        self.register_buffer("memory", torch.linspace(-1, 1, 8))

    def forward(self, x, y):
        h = self.first(x)
        before = self.memory.clone()
        h = h * torch.sigmoid(before) + torch.tanh(before * h)
        self.memory.mul_(0.9).add_(0.1 * h.detach().mean(0))
        h = torch.exp(-self.memory.square()) * h
        return F.cross_entropy(self.second(h), y)


class Counting(nn.Module):
    """The n-th call differs: a whole number among the buffers is counted up first."""

    def __init__(self):
        super().__init__()
        self.body, self.head = nn.Linear(6, 8), nn.Linear(8, 4)
        self.register_buffer("calls", torch.zeros((), dtype=torch.int64))

    def forward(self, x, y):
        self.calls += 1
        scale = torch.cos(self.calls.to(x.dtype))
        h = torch.sin(self.body(x) * scale)
        return F.cross_entropy(self.head(h) / (1 + 0.1 * self.calls), y)


class TwiceNormed(nn.Module):
    """One batch norm at two depths, so that its statistics move twice a step."""

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(8, 8) for _ in range(3))
        self.enter, self.norm, self.head = nn.Linear(6, 8), nn.BatchNorm1d(8), nn.Linear(8, 4)

    def forward(self, x, y):
        h = self.norm(self.enter(x))
        for layer in self.layers:
            h = h + torch.tanh(layer(h) * (1 + self.norm.running_mean))
        return F.cross_entropy(self.head(self.norm(h)), y)


class Tied(nn.Module):
    """One matrix enters, stands in the middle and leaves; the first layer's result
    is added three layers later."""

    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(12, 8)
        self.blocks = nn.ModuleList(nn.Linear(8, 8) for _ in range(4))
        self.blocks[2].weight = self.blocks[0].weight

    def forward(self, ids, y):
        h = self.words(ids)
        skip = F.gelu(self.blocks[0](h))
        h = torch.relu(self.blocks[1](skip))
        h = torch.tanh(self.blocks[2](h) + self.words(ids.flip(1)))
        h = self.blocks[3](h) + skip
        scores = h @ self.words.weight.T
        return F.cross_entropy(scores.flatten(0, 1), y.flatten())


def rows():
    return {"x": torch.randn(8, 6), "y": torch.randint(4, (8,))}


def words():
    return {"ids": torch.randint(12, (8, 5)), "y": torch.randint(12, (8, 5))}


OWN = {
    "remembering": (Remembering, rows),
    "counting": (Counting, rows),
    "twice_normed": (TwiceNormed, rows),
    "tied": (Tied, words),
}


@dataclass
class Exported:
    """A module, its file and that of its inputs, and the segments of its plans."""

    module: nn.Module
    inputs: dict
    file: Path
    inputs_file: Path

    def step(self, out, **options):
        values = {"lr": 0.01, "clip_norm": 0.5}
        return run_step(self.file, self.inputs_file, STEPS, "adamw", values, out, **options)

    def segments(self):
        done = run_braid("inspect", self.file)
        lines = done.stdout.split("\nsegments: ")[1].splitlines()
        return [line.split()[0] for line in lines[2 : 2 + int(lines[0])]]


def exported(name, folder):
    torch.manual_seed(4)
    if name in OWN:
        make, data = OWN[name]
        module, inputs = make(), data()
    else:
        module, inputs = build(name, torch.float32)
    file = folder / "net.pt2"
    export(module, inputs, file)
    return Exported(module.train(), inputs, file, save(folder / "x.safetensors", inputs))


def plan_text(segments, decide, depth, order, buffer):
    lines = [f"depth: {depth}", f"order: {order}", f"buffer: {buffer}", "segments:"]
    lines += [f"  {json.dumps(name)}: {decide()}" for name in segments]
    return "\n".join(lines) + "\n"


def forced():
    """Each decision for all segments, beside the plainest of the others."""
    plain = [choices[0] for choices in CHOICES]
    for i, choices in enumerate(CHOICES):
        for word in choices[1:]:
            yield ",".join(plain[:i] + [word] + plain[i + 1 :])


def plans(segments, seed):
    generator = random.Random(seed)
    uniform = [decision for decision in forced()]
    if not LONG:
        uniform = generator.sample(uniform, 2) + ["recompute,spilled,host_ahead"]
    for decision in uniform:
        yield plan_text(["default"], lambda d=decision: d, 1, "micro_batches", "1GiB")
    for _ in range(PLANS):
        yield plan_text(
            segments,
            lambda: ",".join(generator.choice(c) for c in CHOICES),
            generator.choice([0, 1, 2, 3]),
            generator.choice(["micro_batches", "layers"]),
            generator.choice(["0", "2KiB", "1GiB"]),
        )


def names():
    if LONG:
        return [*OWN, *LIBRARY]
    return [*OWN, random.Random(SEED).choice(LIBRARY[:3])]


@pytest.mark.parametrize("name", names())
def test_no_plan_changes_a_bit(tmp_path, name):
    subject = exported(name, tmp_path)
    free = subject.step(tmp_path / "free")
    plan = tmp_path / "plan.yaml"
    for i, text in enumerate(plans(subject.segments(), f"{SEED} {name}")):
        plan.write_text(text)
        got = subject.step(tmp_path / f"plan-{i}", plan=plan, spill_dir=tmp_path)
        if got.raw() != free.raw():
            from safetensors.torch import load
            for k in free.raw():
                if got.raw()[k] == free.raw()[k]: continue
                print("FILE", k, text)
                if k.endswith("safetensors"):
                    a, b = load(free.raw()[k]), load(got.raw()[k])
                    for n in a:
                        if not (a[n] == b[n]).all(): print("DIFF", n, tuple(a[n].shape), (a[n]-b[n]).abs().max().item(), a[n].abs().max().item(), (a[n]!=b[n]).sum().item())
        assert got.memory["predicted_peak_bytes"] == got.memory["measured_peak_bytes"], text


@pytest.mark.parametrize("name", OWN)
def test_what_it_keeps_from_call_to_call_is_as_in_pytorch(tmp_path, name):
    subject = exported(name, tmp_path)
    plan = tmp_path / "plan.yaml"
    plan.write_text("segments: {default: 'recompute,spilled,host'}\n")
    values = {"lr": 0.05}
    out = tmp_path / "out"
    args = (subject.file, subject.inputs_file, 5, "sgd", values)
    run_braid(*step_args(*args, out, plan=plan))
    want = train(subject.module, subject.inputs, lambda p: torch.optim.SGD(p, lr=0.05), 5)
    losses = json.loads((out / "losses.json").read_text())
    assert losses == pytest.approx(want.losses, rel=1e-5)
