"""Every schedule against torch.optim.lr_scheduler over 200 steps, in float64."""

import copy
import math

import job_run
import pytest
import torch
from braid_run import Result, run_braid, run_members, run_step, step_args
from job_run import JobRun, bits
from measure import assert_near, train
from mlp_files import MODEL, write_mlp
from torch.optim import lr_scheduler as torch_lr

STEPS = 200

OPTIMIZERS = {
    "sgd": (torch.optim.SGD, {"lr": 0.05, "momentum": 0.9}),
    "adamw": (torch.optim.AdamW, {"lr": 0.01, "weight_decay": 0.05}),
}


def noam(width, warmup):
    return lambda step: width**-0.5 * min((step + 1) ** -0.5, (step + 1) * warmup**-1.5)


def one_cycle(optimizer, **values):
    """Its highest rate is the base rate of braid."""
    rate = optimizer.param_groups[0]["lr"]
    return torch_lr.OneCycleLR(optimizer, rate, cycle_momentum=False, **values)


# Texts, and what torch calls the same.
CASES = {
    "step(step_size=30,gamma=0.5)": lambda o: torch_lr.StepLR(o, 30, 0.5),
    "multi_step(milestones=[20,90,91],gamma=0.4)": lambda o: torch_lr.MultiStepLR(
        o, [20, 90, 91], 0.4
    ),
    "exponential(gamma=0.985)": lambda o: torch_lr.ExponentialLR(o, 0.985),
    "cosine(steps=200)": lambda o: torch_lr.CosineAnnealingLR(o, 200),
    "cosine(steps=70,min_lr=1e-4)": lambda o: torch_lr.CosineAnnealingLR(o, 70, 1e-4),
    "restarts(period=40,min_lr=1e-4)": lambda o: torch_lr.CosineAnnealingWarmRestarts(
        o, 40, 1, 1e-4
    ),
    "restarts(period=25,growth=2)": lambda o: torch_lr.CosineAnnealingWarmRestarts(o, 25, 2),
    "linear(steps=150)": lambda o: torch_lr.LinearLR(o, 1.0, 0.0, 150),
    "linear(steps=80,start_factor=0.25,end_factor=1)": lambda o: torch_lr.LinearLR(
        o, 0.25, 1.0, 80
    ),
    "polynomial(steps=150,power=2)": lambda o: torch_lr.PolynomialLR(o, 150, 2),
    "one_cycle(steps=200)": lambda o: one_cycle(o, total_steps=200),
    "one_cycle(steps=210,start_share=0.45,div=10,final_div=50)": lambda o: one_cycle(
        o, total_steps=210, pct_start=0.45, div_factor=10, final_div_factor=50
    ),
    "noam(width=16,warmup=30)": lambda o: torch_lr.LambdaLR(o, noam(16, 30)),
}

PLATEAUS = {
    "plateau(factor=0.5,patience=3,threshold=0.05)": {
        "factor": 0.5, "patience": 3, "threshold": 0.05,
    },
    "plateau(factor=0.3,patience=2,threshold=0.05,cooldown=5,min_lr=1e-3)": {
        "factor": 0.3, "patience": 2, "threshold": 0.05, "cooldown": 5, "min_lr": 1e-3,
    },
    "plateau(factor=0.5,patience=1,threshold=0.01,absolute=1,eps=1e-3)": {
        "factor": 0.5, "patience": 1, "threshold": 0.01, "threshold_mode": "abs", "eps": 1e-3,
    },
}


@pytest.fixture(name="files", scope="module")
def make_files(tmp_path_factory):
    return write_mlp(tmp_path_factory.mktemp("schedules"))


def braid_run(files, out, kind, text, **options):
    folder = files[0]
    return run_step(MODEL, folder / "inputs.safetensors", STEPS, kind, OPTIMIZERS[kind][1], out,
                    init=folder / "init.safetensors", threads=1, schedule=text, **options)


def torch_run(files, kind, follow, steps=STEPS):
    _, twin, inputs = files
    made, values = OPTIMIZERS[kind]
    return train(copy.deepcopy(twin), inputs, lambda p: made(p, **values), steps, follow=follow)


def plain(make):
    """A scheduler that looks at steps alone."""

    def follow(optimizer):
        scheduler = make(optimizer)
        return lambda loss: scheduler.step()

    return follow


@pytest.mark.parametrize("kind", OPTIMIZERS)
@pytest.mark.parametrize("text", CASES)
def test_schedule_follows_torch_for_200_steps(files, tmp_path, text, kind):
    got = braid_run(files, tmp_path / "out", kind, text)
    assert_near(got, torch_run(files, kind, plain(CASES[text])))


def test_the_measure_sees_a_schedule(files, tmp_path):
    """The comparison would fail for a rate that is off by a millionth."""
    got = braid_run(files, tmp_path / "out", "sgd", "cosine(steps=200)")
    make = plain(lambda o: torch_lr.CosineAnnealingLR(o, 200.001))
    with pytest.raises(AssertionError):
        assert_near(got, torch_run(files, "sgd", make))


WARM = 15


def warm(make, first=1.0):
    """A straight rise before another schedule, to its first rate."""

    def follow(optimizer):
        after = make(optimizer)
        rise = torch_lr.LinearLR(optimizer, 0.1 * first, first, WARM)
        both = torch_lr.SequentialLR(optimizer, [rise, after], [WARM])
        return lambda loss: both.step()

    return follow


@pytest.mark.parametrize("kind", OPTIMIZERS)
@pytest.mark.parametrize("text", [t for t in CASES if not t.startswith("noam")])
def test_warm_up_before_any_follows_torch(files, tmp_path, text, kind):
    warm_text = f"{text[:-1]},warmup={WARM},warmup_factor=0.1)"
    got = braid_run(files, tmp_path / "out", kind, warm_text)
    first = 0.25 if "start_factor=0.25" in text else 1.0
    assert_near(got, torch_run(files, kind, warm(CASES[text], first)))


@pytest.mark.parametrize("kind", OPTIMIZERS)
def test_warm_up_before_a_constant_rate(files, tmp_path, kind):
    got = braid_run(files, tmp_path / "out", kind, f"constant(warmup={WARM},warmup_factor=0.1)")
    assert_near(got, torch_run(files, kind, plain(lambda o: torch_lr.LinearLR(o, 0.1, 1.0, WARM))))


class Rates:
    """Keeps the rates that torch used."""

    def __init__(self):
        self.seen = []

    def __call__(self, values, warmup=0):
        def follow(optimizer):
            rise = torch_lr.LinearLR(optimizer, 0.1, 1.0, warmup) if warmup else None
            scheduler = torch_lr.ReduceLROnPlateau(optimizer, **values)
            taken = 0

            def after(loss):
                nonlocal taken
                taken += 1
                if taken <= warmup:
                    rise.step()
                else:
                    scheduler.step(loss)
                self.seen.append(optimizer.param_groups[0]["lr"])

            return after

        return follow


@pytest.mark.parametrize("warmup", [0, WARM])
@pytest.mark.parametrize("kind", OPTIMIZERS)
@pytest.mark.parametrize("text", PLATEAUS)
def test_plateau_follows_torch(files, tmp_path, text, kind, warmup):
    rates = Rates()
    want = torch_run(files, kind, rates(PLATEAUS[text], warmup))
    assert len(set(rates.seen[warmup:])) > 1, "the rate never fell"
    rise = f",warmup={warmup},warmup_factor=0.1" if warmup else ""
    got = braid_run(files, tmp_path / "out", kind, f"{text[:-1]}{rise})")
    assert_near(got, want)


@pytest.mark.parametrize("kind", OPTIMIZERS)
def test_groups_have_a_base_of_their_own(files, tmp_path, kind):
    folder, twin, inputs = files
    text = "plateau(factor=0.5,patience=3,threshold=0.05,min_lr=2e-3)"
    got = braid_run(files, tmp_path / "out", kind, text, group="*.bias: lr=0.003, weight_decay=0")
    made, values = OPTIMIZERS[kind]
    twin = copy.deepcopy(twin)
    biases = [p for n, p in twin.named_parameters() if n.endswith(".bias")]
    others = [p for n, p in twin.named_parameters() if not n.endswith(".bias")]

    def make(_):
        groups = [{"params": others}, {"params": biases, "lr": 0.003, "weight_decay": 0}]
        return made(groups, **values)

    def follow(optimizer):
        return torch_lr.ReduceLROnPlateau(
            optimizer, factor=0.5, patience=3, threshold=0.05, min_lr=2e-3
        ).step

    assert_near(got, train(twin, inputs, make, STEPS, follow=follow))


MEMBERS = [
    {"lr": 0.02, "schedule": "cosine(steps=50,min_lr=1e-4)"},
    {"lr": 0.05},
    {"lr": 0.03, "schedule": "plateau(factor=0.5,patience=2,threshold=0.05)"},
    {"lr": 0.04, "schedule": "multi_step(milestones=[5,20],warmup=4)"},
]


def members_file(folder):
    lines = []
    for k, member in enumerate(MEMBERS):
        words = "".join(f", {name}: '{value}'" for name, value in member.items())
        lines.append(f"- {{seed: {k}{words}}}")
    path = folder / "members.yaml"
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.mark.parametrize("kind", OPTIMIZERS)
@pytest.mark.parametrize("shared", [None, "linear(steps=60)"])
def test_members_with_schedules_equal_their_solo_runs(files, tmp_path, kind, shared):
    inputs = files[0] / "inputs.safetensors"
    common = {"schedule": shared} if shared else {}
    values = {"momentum": 0.9} if kind == "sgd" else {}
    array = run_members(MODEL, inputs, 80, kind, values, tmp_path / "array",
                        members=members_file(tmp_path), threads=1, **common)
    for k, member in enumerate(MEMBERS):
        own = {"schedule": member["schedule"]} if "schedule" in member else common
        solo = run_step(MODEL, inputs, 80, kind, {**values, "lr": member["lr"]},
                        tmp_path / f"solo{k}", seed=k, threads=1, **own)
        assert_near(array[k], solo)


RESUMED = [
    "cosine(steps=60,min_lr=1e-4,warmup=7)",
    "plateau(factor=0.5,patience=2,threshold=0.05,cooldown=3)",
]


@pytest.mark.parametrize("text", RESUMED)
@pytest.mark.parametrize("stop", [1, 13, 40])
def test_a_run_that_goes_on_keeps_its_schedule(files, tmp_path, text, stop):
    """Bit by bit, wherever it was cut; with a rate of its own for a group."""

    def run(out, steps):
        options = {"schedule": text, "group": "*.bias: lr=0.02", "checkpoint_every": 1000}
        args = step_args(MODEL, files[0] / "inputs.safetensors", steps, "sgd",
                         {"lr": 0.05, "momentum": 0.9}, out, threads=1, **options)
        return run_braid(*args)

    run(tmp_path / "whole", 80)
    run(tmp_path / "cut", stop)
    assert f"going on after step {stop}" in run(tmp_path / "cut", 80).stdout
    assert Result(tmp_path / "cut").raw() == Result(tmp_path / "whole").raw()


def test_members_that_go_on_keep_their_schedules(files, tmp_path):
    members = members_file(tmp_path)

    def run(out, steps):
        args = step_args(MODEL, files[0] / "inputs.safetensors", steps, "adamw", {}, out,
                         threads=1, members=members, checkpoint_every=1000)
        run_braid(*args)

    run(tmp_path / "whole", 60)
    run(tmp_path / "cut", 23)
    run(tmp_path / "cut", 60)
    for k in range(len(MEMBERS)):
        cut, whole = (Result(tmp_path / n / f"member-{k}").raw() for n in ("cut", "whole"))
        assert cut == whole


def test_another_schedule_is_another_run(files, tmp_path):
    def args(text):
        return step_args(MODEL, files[0] / "inputs.safetensors", 4, "sgd", {}, tmp_path / "out",
                         schedule=text, checkpoint_every=2)

    run_braid(*args("cosine(steps=50)"))
    failed = run_braid(*args("cosine(steps=51)"), code=2)
    assert "members/0/schedule" in failed.stderr


@pytest.mark.parametrize("short, full", [
    ("cosine", "cosine(steps=60)"),
    ("cosine(warmup=5%,min_lr=1e-4)", "cosine(steps=57,min_lr=1e-4,warmup=3)"),
    ("one_cycle", "one_cycle(steps=60)"),
    ("multi_step(milestones=[50%,75%])", "multi_step(milestones=[30,45])"),
])  # fmt: skip
def test_steps_end_what_has_no_length(files, tmp_path, short, full):
    inputs = files[0] / "inputs.safetensors"
    runs = [run_step(MODEL, inputs, 60, "sgd", {"lr": 0.05}, tmp_path / str(i), threads=1,
                     schedule=text) for i, text in enumerate((short, full))]  # fmt: skip
    assert runs[0].raw() == runs[1].raw()


def table(folder, rows=22):
    lines = [f"{i % 7 / 7},{i % 5 / 5},{i % 3}" for i in range(rows)]
    (folder / "table.csv").write_text("\n".join(lines) + "\n")
    return {
        "model": "mlp(hidden=4)", "data": {"source": "csv", "file": "table.csv"},
        "optimizer": {"kind": "sgd", "lr": 0.1}, "batch_size": 8, "threads": 1, "log_every": 1,
        "epochs": 4,
    }  # fmt: skip


def test_epochs_end_what_has_no_length(tmp_path):
    """Three batches of an epoch, the last one short: 12 steps."""
    base = table(tmp_path)
    full = job_run.train(tmp_path, base | {"schedule": "cosine(steps=11,warmup=1)"}, out="full")
    short = job_run.train(tmp_path, base | {"schedule": "cosine(warmup=8%)"}, out="short")
    assert bits(short) == bits(full)
    assert short.values("lr")[-1] == pytest.approx(0.1 * (1 + math.cos(math.pi * 10 / 11)) / 2)
    assert "cosine(warmup=8%)" in (tmp_path / "short" / "config.yaml").read_text()
    by_map = job_run.train(tmp_path, base | {"schedule": {"kind": "cosine", "warmup": "8%"}},
                           "epochs=3", "drop_last=true", out="map")  # fmt: skip
    assert len(by_map.values("lr")) == 6
    assert by_map.values("lr")[0] == 0.1, "8 % of six steps are none"


def test_each_of_a_list_has_its_own_length(tmp_path):
    base = table(tmp_path) | {"schedule": "linear(warmup=25%)"}
    members = [{"name": "long"}, {"name": "short", "epochs": 2}, {"name": "mine", "steps": 5}]
    path = tmp_path / "list.yaml"
    path.write_text(job_run.json.dumps(base | {"members": members}))
    run_braid("train", path, "--out", tmp_path / "list", "-q")
    for name, steps in (("long", 12), ("short", 6), ("mine", 5)):
        rise = round(steps / 4 + 1e-9)
        want = [0.1 * (t / rise if t < rise else 1 - (t - rise) / (steps - rise))
                for t in range(steps)]  # fmt: skip
        assert JobRun(tmp_path / "list" / name).values("lr") == pytest.approx(want)


def test_a_longer_run_has_the_rates_of_its_length(tmp_path):
    """From where it goes on; what was done stays done."""
    job_run.train(tmp_path, table(tmp_path) | {"schedule": "cosine"})
    config = tmp_path / "run" / "config.yaml"
    text = config.read_text()
    assert "epochs: 4" in text
    config.write_text(text.replace("epochs: 4", "epochs: 6"))
    run_braid("resume", tmp_path / "run", "-q")

    def rate(step, steps):
        return 0.1 * (1 + math.cos(math.pi * step / steps)) / 2

    want = [rate(t, 12) for t in range(12)] + [rate(t, 18) for t in range(12, 18)]
    assert JobRun(tmp_path / "run").values("lr") == pytest.approx(want)


def test_phases_count_their_own_updates(tmp_path):
    base = table(tmp_path)
    net = {"model": "mlp(features=2,classes=2,hidden=3)", "optimizer": {"kind": "sgd", "lr": 0.1}}
    job = {k: v for k, v in base.items() if k not in ("model", "optimizer", "epochs")} | {
        "networks": {"f": net | {"schedule": "linear"}, "g": net | {"schedule": "linear"}},
        "phases": [{"learns": "f", "loss": "mse(f(x), 1)"},
                   {"learns": "g", "loss": "mse(g(x), 1)", "every": 2}],
        "steps": 7,
    }  # fmt: skip
    run = job_run.train(tmp_path, job)
    assert run.values("f/lr") == pytest.approx([0.1 * (1 - t / 7) for t in range(7)])
    assert run.values("g/lr") == pytest.approx([0.1 * (1 - t // 2 / 4) for t in range(7)])


def test_mistakes_are_named(files, tmp_path):
    inputs = files[0] / "inputs.safetensors"

    def problem(**options):
        args = step_args(MODEL, inputs, 2, "sgd", {}, tmp_path / "out", **options)
        return run_braid(*args, code=2).stderr

    assert "did you mean 'cosine'?" in problem(schedule="cosin(steps=4)")
    assert "did you mean 'steps'?" in problem(schedule="cosine(step=4)")
    members = tmp_path / "members.yaml"
    members.write_text("- {seed: 1}\n- {seed: 2, schedule: cosine(step=4)}\n")
    text = problem(members=members)
    assert text.startswith("[members] ") and "line 2" in text and "'steps'?" in text
    assert not (tmp_path / "out").exists()
