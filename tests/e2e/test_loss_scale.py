"""Loss scaling: that of torch.amp.GradScaler, for each member its own.

In float32 with scales near its end, so that gradients overflow.
"""

import copy

import models
import pytest
import torch
from array_case import members_file, read_run, same_bits
from braid_run import run_members, run_step, save
from job_run import train
from measure import Run, differences
from train_jobs import BASE, write_table

STEPS = 14
SIZES = {"features": 6, "hidden": 8, "layers": 1, "classes": 3}
MODEL = "mlp(hidden=8,layers=1,classes=3)"
HUGE = 2.0**127
# Grows after two good steps, halves after a bad one; one that stays; none.
MEMBERS = [
    {"lr": 0.01, "loss_scale": HUGE, "growth_interval": 2},
    {"lr": 0.03, "loss_scale": 1024},
    {"lr": 0.02},
    {"lr": 0.02, "loss_scale": HUGE, "growth_interval": 3, "growth_factor": 4,
     "backoff_factor": 0.25},
]  # fmt: skip


def batch(k):
    """Inputs that make large gradients."""
    tensors = models.batch("mlp", seed=k, size=8, **SIZES)
    return tensors | {"x": 30 * tensors["x"]}


class Eager:
    """What PyTorch makes of a member: its run, its last scale, steps skipped."""

    def __init__(self, k, values, clip):
        values = dict(values)
        module = models.make("mlp", seed=k, **SIZES)
        optimizer = torch.optim.SGD(module.parameters(), values.pop("lr"), momentum=0.9)
        values.setdefault("growth_interval", 10**6)
        scaler = torch.amp.GradScaler(
            "cpu", values.pop("loss_scale", 1.0), enabled="loss_scale" in MEMBERS[k], **values
        )
        self.run, self.skipped = Run(), 0
        for _ in range(STEPS):
            before = copy.deepcopy(module.state_dict())
            optimizer.zero_grad()
            loss = module(**batch(k))
            scaler.scale(loss).backward()
            scaler.unscale_(optimizer)
            if clip:
                torch.nn.utils.clip_grad_norm_(module.parameters(), clip)
            scaler.step(optimizer)
            scaler.update()
            self.run.losses.append(loss.item())
            same = all(torch.equal(before[n], t) for n, t in module.state_dict().items())
            self.skipped += same
        self.run.state = {n: t.clone() for n, t in module.state_dict().items()}
        self.scale = scaler.get_scale()


def entries(folder):
    made = []
    for k, values in enumerate(MEMBERS):
        init = models.make("mlp", seed=k, **SIZES).state_dict()
        made.append(values | {
            "inputs": str(save(folder / f"x{k}.safetensors", batch(k))),
            "init": str(save(folder / f"init{k}.safetensors", init)),
        })  # fmt: skip
    return made


def train_members(folder, name, members, values=None):
    out = folder / name
    results = run_members(
        MODEL, None, STEPS, "sgd", {"momentum": 0.9} | (values or {}), out, threads=1,
        members=members_file(folder / f"{name}.yaml", members), checkpoint_every=STEPS,
    )  # fmt: skip
    return [read_run(result, out, STEPS, place) for place, result in enumerate(results)]


def scale_of(run):
    return float(run.rest["hyper/loss_scale"] * run.rest["counter/loss_scale"])


@pytest.mark.parametrize("clip", [None, 0.05])
def test_each_member_has_a_grad_scaler_of_its_own(tmp_path, clip):
    """Overflow in one member skips its step and lowers its scale alone."""
    runs = train_members(tmp_path, "out", entries(tmp_path), {"clip_norm": clip} if clip else {})
    for k, (run, values) in enumerate(zip(runs, MEMBERS, strict=True)):
        eager = Eager(k, values, clip)
        assert eager.skipped > 1 or k in (1, 2), "nothing overflowed"
        assert eager.skipped < STEPS
        assert scale_of(run) == eager.scale
        assert run.rest["counter/update"] == STEPS - eager.skipped
        got = Run(run.losses, {"none": torch.ones(1)}, run.state)
        eager.run.grads = got.grads
        lines = differences(got, eager.run, [eager.run], 1e-4, 1e-4, 0.0)
        assert not lines, f"member {k}:\n" + "\n".join(lines)


def test_overflow_in_one_member_changes_no_bit_of_others(tmp_path):
    usual = entries(tmp_path)
    quiet = [usual[0] | {"loss_scale": 8}, *usual[1:3], usual[3] | {"loss_scale": 2}]
    loud, calm = (train_members(tmp_path, n, m) for n, m in (("a", usual), ("b", quiet)))
    assert all(same_bits(loud[k], calm[k]) for k in (1, 2))


@pytest.mark.parametrize("k", range(len(MEMBERS)))
def test_a_member_is_as_alone(tmp_path, k):
    """Also one that scales nothing: it neither skips nor guards anything."""
    members = entries(tmp_path)
    run = train_members(tmp_path, "out", members)[k]
    own = dict(members[k])
    inputs, init = own.pop("inputs"), own.pop("init")
    solo = run_step(
        MODEL, inputs, STEPS, "sgd", {"momentum": 0.9} | own, tmp_path / "solo", init=init,
        threads=1,
    )  # fmt: skip
    for got, want in ((run.grads, solo.grads), (run.state, solo.state)):
        torch.testing.assert_close(got, want, rtol=1e-6, atol=1e-7, equal_nan=True)
    assert run.losses == pytest.approx(solo.losses, rel=1e-6, abs=1e-7)


def test_gradients_that_are_reported_are_those_of_the_loss(tmp_path):
    """A power of two changes no digit."""
    inputs = save(tmp_path / "x.safetensors", batch(0))
    plain = run_step(MODEL, inputs, 3, "adamw", {}, tmp_path / "plain")
    scaled = run_step(MODEL, inputs, 3, "adamw", {"loss_scale": 4096}, tmp_path / "scaled")
    assert scaled.losses == plain.losses
    for kind in ("grads", "state"):
        files = getattr(scaled, kind), getattr(plain, kind)
        torch.testing.assert_close(*files, rtol=0, atol=0)


def test_accumulated_gradients_are_scaled_once(tmp_path):
    inputs = save(tmp_path / "x.safetensors", batch(0))
    plain = run_step(MODEL, inputs, 3, "sgd", {}, tmp_path / "plain", accumulate=4)
    scaled = run_step(
        MODEL, inputs, 3, "sgd", {"loss_scale": 256}, tmp_path / "scaled", accumulate=4
    )
    assert scaled.raw() == plain.raw()


def test_members_that_do_not_skip_become_nan(tmp_path):
    """skip_nonfinite is a member's own; so are its running statistics."""
    x = models.batch("resblock", size=4, side=6, channels=4, blocks=1, classes=3)
    x["x"].view(-1)[0] = float("nan")
    inputs = save(tmp_path / "x.safetensors", x)
    members = members_file(tmp_path / "m.yaml", [{"skip_nonfinite": True}, {}])
    kept, lost = run_members(
        "resblock(channels=4,blocks=1,classes=3)", inputs, 2, "sgd", {}, tmp_path / "out",
        members=members, code=1,
    )  # fmt: skip
    assert all(bool(t.isfinite().all()) for t in kept.state.values())
    for name in ("weight", "running_mean"):
        assert any(bool(t.isnan().any()) for n, t in lost.state.items() if n.endswith(name)), name


def test_jobs_scale_by_values_of_their_optimizer(tmp_path):
    write_table(tmp_path / "table.csv")
    runs = []
    for name, more in (("plain", {}), ("scaled", {"loss_scale": 512, "growth_interval": 4})):
        job = BASE | {"optimizer": BASE["optimizer"] | more, "checkpoint": {"every": 1}}
        runs.append(train(tmp_path, job, out=name))
    plain, scaled = (run.state() for run in runs)
    assert all(torch.equal(plain[name], t) for name, t in scaled.items())
    assert runs[1].state("state")["counter/loss_scale"] == 2.0**3
