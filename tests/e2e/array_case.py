"""Members of an array against the same members alone, for any model.

Member k has a seed, a batch, weights, a rate, a schedule, weight decay and
dropout of its own, whatever array it is in and wherever it lies there.
"""

import copy
import json
from dataclasses import dataclass, field
from pathlib import Path

import torch
from braid_run import run_braid, run_members, run_step, save
from measure import Run, differences, nudged
from safetensors.torch import load_file

STEPS = 5
# Which members an array of so many has, by place: most lie elsewhere in each.
ORDERS = {1: [0], 2: [0, 1], 3: [2, 0, 1], 5: [4, 3, 2, 1, 0], 8: [5, 7, 1, 0, 6, 2, 4, 3]}
DTYPES = {"f64": torch.float64, "f32": torch.float32}
TOLERANCE = {"f64": 1e-9, "f32": 1e-5}
RATES = [1.0, 0.3, 1.4, 0.5, 0.1, 0.8, 0.7, 0.2]
WEIGHT_DECAY = [0.0, 0.1, 0.01, 0.2, 0.05, 0.0, 0.02, 0.3]
DROPOUT = [0.1, 0.0, 0.5, 0.3, 0.2, 0.4, 0.05, 0.6]
SCHEDULES = [
    "constant", "step(step_size=2,gamma=0.5)", "cosine(steps=6)", "exponential(gamma=0.8)",
    "linear(steps=9)", "step(step_size=1,gamma=0.7)", "multi_step(milestones=[1,3],gamma=0.3)",
    "polynomial(steps=8,power=2)",
]  # fmt: skip


@dataclass
class MemberRun(Run):
    """A run with all that its checkpoint holds beside weights and buffers."""

    rest: dict = field(default_factory=dict)

    def files(self):
        return super().files() | {"optimizer": self.rest}


def same_bits(a, b):
    """Nothing that two runs left differs."""
    return all(
        file.keys() == other.keys() and all(torch.equal(file[n], other[n]) for n in file)
        for file, other in zip(a.files().values(), b.files().values(), strict=True)
    )


def read_run(result, out, steps, place=None):
    """One member's part of a checkpoint; a solo run's is all of it."""
    rest = load_file(Path(out) / "checkpoints" / f"step-{steps}" / "state.safetensors")
    if place is not None:
        rest = {name: t[place] for name, t in rest.items()}
    return MemberRun(result.losses, result.grads, result.state, rest)


def perturbed(module, k):
    """The module's weights, somewhat different for every member."""
    generator, module = torch.Generator().manual_seed(k), copy.deepcopy(module)
    with torch.no_grad():
        for parameter in module.parameters():
            noise = torch.randn(parameter.shape, generator=generator, dtype=torch.float64)
            parameter.mul_(1 + 0.05 * noise.to(parameter.dtype))
    return {name: t.detach().clone() for name, t in module.state_dict().items()}


def nudged_alike(tensors, generator, like):
    """All of them nudged; those that are equal stay so, as they may be tied."""
    made = []

    def nudge(tensor):
        for old, new in made:
            if torch.equal(old, tensor):
                return new.clone()
        made.append((tensor, nudged(tensor, generator, like)))
        return made[-1][1]

    return {name: nudge(tensor) for name, tensor in tensors.items()}


def members_file(path, entries):
    path.write_text("".join(f"- {json.dumps(entry)}\n" for entry in entries))
    return path


@dataclass
class ArrayCase:
    """A model and what its members get: make_inputs(k), make_weights(k).

    `coarsest` is the least precise type inside the model, which its results
    are good to; `drops` says that it has dropout.
    """

    folder: Path
    model: str
    dtype: str
    make_inputs: callable
    make_weights: callable
    lr: float
    optimizer: str = "sgd"
    values: dict = field(default_factory=lambda: {"momentum": 0.9})
    drops: bool = False
    coarsest: torch.dtype = None
    solos: dict = field(default_factory=dict)

    def own(self, k):
        """The settings of member k, beside its files and its seed."""
        own = {"lr": self.lr * RATES[k], "weight_decay": WEIGHT_DECAY[k]}
        return own | ({"dropout": DROPOUT[k]} if self.drops else {})

    def file(self, kind, make, k, nudge):
        path = self.folder / f"{kind}-{k}-{nudge}.safetensors"
        if path.exists():
            return path
        tensors = make(k)
        if nudge is not None:
            generator = torch.Generator().manual_seed(nudge)
            like = self.coarsest or DTYPES[self.dtype]
            tensors = nudged_alike(tensors, generator, like)
        return save(path, tensors)

    def files(self, k, nudge=None):
        return {
            "inputs": self.file("inputs", self.make_inputs, k, nudge),
            "init": self.file("init", self.make_weights, k, nudge),
        }

    def options(self):
        built_in = not str(self.model).endswith(".pt2")
        return {"threads": 1, "checkpoint_every": STEPS} | (
            {"dtype": self.dtype} if built_in else {}
        )

    def solo(self, k, nudge=None):
        files, out = self.files(k, nudge), self.folder / f"solo-{k}-{nudge}"
        result = run_step(
            self.model, files["inputs"], STEPS, self.optimizer, self.values | self.own(k), out,
            init=files["init"], seed=11 + 7 * k, schedule=SCHEDULES[k], **self.options(),
        )  # fmt: skip
        return read_run(result, out, STEPS)

    def array(self, out, order, code=0, **changes):
        """Runs of the members in this order; changes: place -> other keys."""
        entries = []
        for place, k in enumerate(order):
            entry = {"seed": 11 + 7 * k, "schedule": SCHEDULES[k]} | self.own(k)
            entry |= {kind: str(path) for kind, path in self.files(k).items()}
            entries.append(entry | changes.get(f"place_{place}", {}))
        out.mkdir()
        results = run_members(
            self.model, None, STEPS, self.optimizer, self.values, out / "run",
            members=members_file(out / "members.yaml", entries), code=code, **self.options(),
        )  # fmt: skip
        assert len(results) == len(order)
        return [read_run(r, out / "run", STEPS, place) for place, r in enumerate(results)]

    def expected(self, k):
        if k not in self.solos:
            self.solos[k] = self.solo(k)
        return self.solos[k]

    def tolerance(self):
        coarsest = self.coarsest or DTYPES[self.dtype]
        return max(TOLERANCE[self.dtype], 4 * torch.finfo(coarsest).eps)

    def check(self, k, run, like=None):
        """Member k's run is that of `like`, or the one alone.

        The response to nudges is measured only where it may matter.
        """
        like = like or self.expected(k)
        tolerance, lr_steps = self.tolerance(), self.lr * RATES[k] * STEPS
        lines = differences(run, like, [like], tolerance, tolerance, lr_steps)
        if lines:
            nudges = [self.expected(k)] + [self.solo(k, nudge) for nudge in range(3)]
            lines = differences(run, like, nudges, tolerance, tolerance, lr_steps)
        assert not lines, f"member {k}:\n" + "\n".join(lines)


def has_dropout(model):
    """Whether a member of this model may set its dropout."""
    text = run_braid("inspect", model, "--dump-after", "forward").stdout
    return any(".p" in line and " hyper" in line for line in text.splitlines())


def poisoned(case, k, path):
    """Keys that bring NaN into a member: by an input, else by the rate."""
    tensors = case.make_inputs(k)
    for tensor in tensors.values():
        if tensor.is_floating_point() and tensor.numel() > 0:
            tensor.view(-1)[0] = float("nan")
            return {"inputs": str(save(path, tensors))}
    return {"lr": "inf"}
