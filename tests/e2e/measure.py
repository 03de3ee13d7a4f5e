"""How two results are compared, and PyTorch's own answer to compare with.

error = max|a - b| / max(max|b|, 1e-3 x the median scale of the file)
limit = max(tolerance, 3 x the tensor's own response to nudges of 8 ulp)

A parameter whose response is above 5 % is rounding and nothing else (a bias
before BatchNorm): it need only stay within 2 x lr x steps. Buffers and momenta
are not bounded by rates.
"""

import copy
from dataclasses import dataclass, field

import torch

ROUNDING = 0.05
MOVED = ("losses", "grads")  # and parameters: by rates
NUDGES = 3
LIMIT = 1e-9  # of many steps in float64


@dataclass
class Run:
    """What training leaves: losses, gradients of the first step, state."""

    losses: list = field(default_factory=list)
    grads: dict = field(default_factory=dict)
    state: dict = field(default_factory=dict)

    def files(self):
        losses = {"loss": torch.tensor(self.losses, dtype=torch.float64)}
        return {"losses": losses, "grads": self.grads, "state": self.state}


def far(got, want):
    """The largest distance in the scale of `want`; whole numbers must be equal."""
    if not want.is_floating_point():
        return 0.0 if torch.equal(got, want) else float("inf")
    return float((got - want).abs().max() / want.abs().max().clamp_min(1e-12))


def assert_near(got, want, limit=LIMIT):
    """Losses and state of two runs."""
    losses = [torch.tensor(run.losses, dtype=torch.float64) for run in (got, want)]
    assert far(*losses) < limit
    for name, tensor in want.state.items():
        assert far(got.state[name], tensor) < limit, name


def clip_norm(norm):
    return lambda parameters: torch.nn.utils.clip_grad_norm_(parameters, norm)


def clip_value(value):
    return lambda parameters: torch.nn.utils.clip_grad_value_(parameters, value)


def train(twin, inputs, make_optimizer, steps, accumulate=1, clip=None, follow=None):
    """Plain PyTorch training of a twin on the same batch at every step.

    `follow(optimizer)` gives what is called with the loss after each step.
    """
    optimizer = make_optimizer(twin.parameters())
    after_step = follow(optimizer) if follow else lambda loss: None
    run = Run()
    parts = {name: t.chunk(accumulate) for name, t in inputs.items()}
    for _ in range(steps):
        optimizer.zero_grad()
        total = 0.0
        for micro in range(accumulate):
            loss = twin(**{name: part[micro] for name, part in parts.items()}) / accumulate
            loss.backward()
            total += loss.item()
        run.losses.append(total)
        if not run.grads:
            run.grads = {
                n: p.grad.clone() for n, p in twin.named_parameters() if p.grad is not None
            }
        if clip is not None:
            clip(twin.parameters())
        optimizer.step()
        after_step(total)
    run.state = {name: t.detach().clone() for name, t in twin.state_dict().items()}
    return run


def nudged(tensor, generator, like=None):
    """Moved by 8 units in the last place, of another type if one is given."""
    if not tensor.is_floating_point():
        return tensor
    signs = torch.randint(2, tensor.shape, generator=generator) * 2 - 1
    eps = torch.finfo(like or tensor.dtype).eps
    return tensor * (1 + 8 * eps * signs.to(tensor.dtype))


def nudged_runs(twin, inputs, *args, like=None, **options):
    """Runs from inputs and weights that differ by 8 units in the last place."""
    runs = []
    for seed in range(NUDGES):
        generator = torch.Generator().manual_seed(seed)
        other = copy.deepcopy(twin)
        with torch.no_grad():
            for parameter in other.parameters():
                parameter.copy_(nudged(parameter, generator, like))
        moved = {name: nudged(t, generator, like) for name, t in inputs.items()}
        runs.append(train(other, moved, *args, **options))
    return runs


def scale_of(file):
    scales = sorted(float(t.abs().max()) for t in file.values() if t.is_floating_point())
    return scales[len(scales) // 2]


def error(a, b, median_scale):
    if not b.is_floating_point() or a.shape != b.shape or b.numel() == 0:
        return 0.0 if torch.equal(a, b) else float("inf")
    a, b = a.double(), b.double()
    scale = max(float(b.abs().max()), 1e-3 * median_scale)
    return float((a - b).abs().max()) / max(scale, 1e-300)


def differences(got, expected, nudges, tolerance, grad_tolerance, lr_steps):
    """Lines about every tensor of `got` that is too far from `expected`."""
    lines = []
    for kind, file in expected.files().items():
        other = got.files()[kind]
        if other.keys() != file.keys():
            lines.append(f"{kind}: names {sorted(other)} instead of {sorted(file)}")
            continue
        if not file:
            lines.append(f"{kind}: holds nothing")
            continue
        median = scale_of(file)
        for name, want in file.items():
            response = max(error(n.files()[kind][name], want, median) for n in nudges)
            far = error(other[name], want, median)
            limit = max(grad_tolerance if kind == "grads" else tolerance, 3 * response)
            is_moved = kind in MOVED or (kind == "state" and name in expected.grads)
            if response > ROUNDING and is_moved:
                far, limit = float((other[name] - want).abs().max()), 2 * lr_steps
            if not far <= limit:
                lines.append(f"{kind} {name}: {far:.3g} > {limit:.3g} (response {response:.3g})")
    return lines

