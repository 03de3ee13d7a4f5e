"""Groups, frozen parameters, clipping, accumulation and averages, as in torch."""

import copy
from fnmatch import fnmatchcase

import models
import pytest
import torch
from braid_run import Result, run_braid, run_members, save, step_args
from measure import LIMIT, assert_near, clip_norm, clip_value, far, train
from safetensors.torch import load_file
from torch.optim import lr_scheduler
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

STEPS = 60
SIZES = {
    "mlp": {"features": 6, "hidden": 10, "layers": 2, "classes": 3},
    "resblock": {"channels": 4, "blocks": 1, "classes": 3, "side": 8},
    "transformer": {"vocab": 12, "width": 8, "heads": 2, "layers": 1, "length": 6},
}
TEXTS = {
    "mlp": "mlp(hidden=10,layers=2,classes=3)",
    "resblock": "resblock(channels=4,blocks=1,classes=3)",
    "transformer": "transformer(vocab=12,width=8,heads=2,layers=1)",
}
OPTIMIZERS = {
    "sgd": (torch.optim.SGD, {"lr": 0.05, "momentum": 0.9, "weight_decay": 0.02}),
    "adamw": (torch.optim.AdamW, {"lr": 0.005, "weight_decay": 0.1}),
    "nadam": (torch.optim.NAdam, {"lr": 0.005, "weight_decay": 0.02}),
}


@pytest.fixture(autouse=True)
def exact_scalars():
    """NAdam of torch keeps numbers of its own in the default dtype."""
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


class Setup:
    """A model with its twin and its files."""

    def __init__(self, folder, name):
        self.folder, self.name, self.text = folder, name, TEXTS[name]
        self.twin = models.make(name, torch.float64, seed=3, **SIZES[name])
        self.inputs = models.batch(name, torch.float64, size=12, **SIZES[name])
        save(folder / "inputs.safetensors", self.inputs)
        save(folder / "init.safetensors", self.twin.state_dict())

    def braid(self, kind, values, *extra, steps=STEPS, out="out", **options):
        """A run with repeated options in `extra`."""
        args = step_args(self.text, self.folder / "inputs.safetensors", steps, kind, values,
                         self.folder / out, threads=1, init=self.folder / "init.safetensors",
                         **options)
        run_braid(*args, *extra)
        return Result(self.folder / out)

    def torch(self, kind, values, groups=None, steps=STEPS, **options):
        """`groups` is a list of (rule on names, values); the first that fits counts."""
        twin = copy.deepcopy(self.twin)
        self.trained = twin

        def make(_):
            return kind(split(twin, groups or []), **values)

        return train(twin, self.inputs, make, steps, **options)


def split(twin, rules):
    groups = [{"params": [], **values} for _, values in rules] + [{"params": []}]
    for name, parameter in twin.named_parameters():
        if not parameter.requires_grad:
            continue
        at = next((i for i, (fits, _) in enumerate(rules) if fits(name)), len(rules))
        groups[at]["params"].append(parameter)
    return [group for group in groups if group["params"]]


@pytest.fixture(name="setup", params=["mlp", "resblock", "transformer"])
def make_setup(tmp_path, request):
    return Setup(tmp_path, request.param)


@pytest.fixture(name="mlp")
def make_mlp(tmp_path):
    return Setup(tmp_path, "mlp")


NO_DECAY = {
    "mlp": (["*.bias"], lambda n: n.endswith(".bias")),
    "resblock": (
        ["*bn*", "*.bias"],
        lambda n: "bn" in n or n.endswith(".bias"),
    ),
    "transformer": (
        ["*ln*", "*.bias"],
        lambda n: "ln" in n or n.endswith(".bias"),
    ),
}


@pytest.mark.parametrize("kind", OPTIMIZERS)
def test_no_decay_on_norms_and_biases(setup, kind):
    made, values = OPTIMIZERS[kind]
    patterns, fits = NO_DECAY[setup.name]
    names = [n for n, _ in setup.twin.named_parameters()]
    patterns = [p for p in patterns if any(fnmatchcase(n, p) for n in names)]
    extra = [w for p in patterns for w in ("--group", f"{p}: weight_decay=0")]
    got = setup.braid(kind, values, *extra)
    assert_near(got, setup.torch(made, values, [(fits, {"weight_decay": 0.0})]))


def test_the_first_group_that_fits_counts(mlp):
    made, values = OPTIMIZERS["sgd"]
    got = mlp.braid("sgd", values, "--group", "head.*: lr=0.01, momentum=0.5",
                    "--group", "*.weight: lr=0.001,weight_decay=0")
    rules = [
        (lambda n: n.startswith("head."), {"lr": 0.01, "momentum": 0.5}),
        (lambda n: n.endswith(".weight"), {"lr": 0.001, "weight_decay": 0.0}),
    ]
    assert_near(got, mlp.torch(made, values, rules))


def test_a_group_may_bring_momentum(mlp):
    got = mlp.braid("sgd", {"lr": 0.05}, "--group", "*.weight: momentum=0.9")
    rules = [(lambda n: n.endswith(".weight"), {"momentum": 0.9})]
    assert_near(got, mlp.torch(torch.optim.SGD, {"lr": 0.05}, rules))


def test_nadam_groups_have_momenta_of_their_own(mlp):
    """The product of the momenta is one per group."""
    got = mlp.braid("nadam", {"lr": 0.005}, "--group", "*.bias: beta1=0.5, beta2=0.9")
    rules = [(lambda n: n.endswith(".bias"), {"betas": (0.5, 0.9)})]
    assert_near(got, mlp.torch(torch.optim.NAdam, {"lr": 0.005}, rules))


@pytest.mark.parametrize("kind", OPTIMIZERS)
def test_frozen_parameters_keep_every_bit(setup, kind):
    made, values = OPTIMIZERS[kind]
    frozen = ["head.*", {"mlp": "layers.0.*", "resblock": "stem*", "transformer": "*ln*"}[
        setup.name]]
    names = [n for n, _ in setup.twin.named_parameters()]
    frozen = [p for p in frozen if any(fnmatchcase(n, p) for n in names)]
    got = setup.braid(kind, values, *[w for p in frozen for w in ("--freeze", p)])
    begin = load_file(setup.folder / "init.safetensors")
    kept = [n for n in names if any(fnmatchcase(n, p) for p in frozen)]
    assert kept and len(kept) < len(names)
    for name in names:
        assert torch.equal(got.state[name], begin[name]) == (name in kept), name
        assert (name in got.grads) == (name not in kept), name
    for name, parameter in setup.twin.named_parameters():
        parameter.requires_grad_(name not in kept)
    # train() asks every parameter for its gradient.
    twin = copy.deepcopy(setup.twin)
    optimizer = made([p for p in twin.parameters() if p.requires_grad], **values)
    losses = []
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss = twin(**setup.inputs)
        loss.backward()
        losses.append(loss.item())
        optimizer.step()
    assert far(torch.tensor(got.losses), torch.tensor(losses)) < LIMIT
    for name, tensor in twin.state_dict().items():
        assert far(got.state[name], tensor) < LIMIT, name


CLIPS = {
    "norm": ({"clip_norm": 0.05}, clip_norm(0.05)),
    "value": ({"clip_value": 0.01}, clip_value(0.01)),
    "large": ({"clip_norm": 1e6}, clip_norm(1e6)),
}


@pytest.mark.parametrize("kind", OPTIMIZERS)
@pytest.mark.parametrize("clip", CLIPS)
def test_clipping(setup, kind, clip):
    made, values = OPTIMIZERS[kind]
    limits, torch_clip = CLIPS[clip]
    got = setup.braid(kind, {**values, **limits})
    assert_near(got, setup.torch(made, values, clip=torch_clip))


@pytest.mark.parametrize("name", ["clip_norm", "clip_value"])
def test_members_clip_apart(mlp, name):
    """A small limit of one member leaves the others alone."""
    made, values = OPTIMIZERS["sgd"]
    limits = [0.02, 0.5, None]
    lines = [f"- {{{name}: {v}}}" if v else "- {seed: 0}" for v in limits]
    (mlp.folder / "members.yaml").write_text("\n".join(lines) + "\n")
    array = run_members(mlp.text, mlp.folder / "inputs.safetensors", STEPS, "sgd", values,
                        mlp.folder / "array", members=mlp.folder / "members.yaml", threads=1,
                        init=mlp.folder / "init.safetensors")
    make = {"clip_norm": clip_norm, "clip_value": clip_value}[name]
    for limit, got in zip(limits, array, strict=True):
        assert_near(got, mlp.torch(made, values, clip=make(limit) if limit else None))


@pytest.mark.parametrize("kind", OPTIMIZERS)
def test_accumulation_with_clipping(mlp, kind):
    made, values = OPTIMIZERS[kind]
    got = mlp.braid(kind, {**values, "clip_norm": 0.05}, accumulate=3)
    assert_near(got, mlp.torch(made, values, accumulate=3, clip=clip_norm(0.05)))


def average(setup, decay, schedule=None):
    """A `follow` for train() that keeps the average of the model."""
    holder = {}

    def follow(optimizer):
        model = AveragedModel(setup.trained, multi_avg_fn=get_ema_multi_avg_fn(decay))
        holder["model"] = model
        scheduler = schedule(optimizer) if schedule else None

        def after(_):
            model.update_parameters(setup.trained)
            if scheduler:
                scheduler.step()

        return after

    return holder, follow


def assert_average(folder, model):
    got = load_file(folder / "ema.safetensors")
    want = model.module.state_dict()
    assert got.keys() == want.keys()
    for name, tensor in want.items():
        assert far(got[name], tensor) < LIMIT, name


@pytest.mark.parametrize("kind", OPTIMIZERS)
def test_averaged_weights(setup, kind):
    made, values = OPTIMIZERS[kind]
    setup.braid(kind, {**values, "ema_decay": 0.95})
    holder, follow = average(setup, 0.95)
    setup.torch(made, values, follow=follow)
    assert_average(setup.folder / "out", holder["model"])


def test_no_average_without_a_decay(mlp):
    mlp.braid("sgd", {"lr": 0.1}, steps=1)
    assert not (mlp.folder / "out" / "ema.safetensors").exists()


@pytest.mark.parametrize("kind", OPTIMIZERS)
def test_all_of_it_together(setup, kind):
    """Groups, clipping, accumulation, average and a schedule with warm-up."""
    accumulate = 1 if setup.name == "resblock" else 2
    made, values = OPTIMIZERS[kind]
    got = setup.braid(kind, {**values, "clip_norm": 0.1, "ema_decay": 0.9},
                      "--group", "head.*: weight_decay=0, lr=0.002",
                      schedule="cosine(steps=80,min_lr=1e-4,warmup=10,warmup_factor=0.1)",
                      accumulate=accumulate)

    def schedule(optimizer):
        after = lr_scheduler.CosineAnnealingLR(optimizer, 80, 1e-4)
        rise = lr_scheduler.LinearLR(optimizer, 0.1, 1.0, 10)
        return lr_scheduler.SequentialLR(optimizer, [rise, after], [10])

    holder, follow = average(setup, 0.9, schedule)
    rules = [(lambda n: n.startswith("head."), {"weight_decay": 0.0, "lr": 0.002})]
    want = setup.torch(made, values, rules, clip=clip_norm(0.1), accumulate=accumulate,
                       follow=follow)
    assert_near(got, want)
    assert_average(setup.folder / "out", holder["model"])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--group", "*.bias"], "[group] --group '*.bias' cannot be read"),
        (["--group", "*.bias: lr"], "'lr' is no NAME=VALUE"),
        (["--group", "*.bias: lt=1"], "did you mean 'lr'?"),
        (["--group", "*.bias: lr=-1"], "'lr' must be at least 0"),
        (["--group", "*.bias: clip_norm=1"], "has no value 'clip_norm' for a group"),
        (["--group", "haed.*: lr=1"], "no parameter fits 'haed.*'"),
        (["--freeze", "haed.*"], "[freeze] no parameter fits 'haed.*'"),
        (["--freeze", "*"], "no trainable parameter"),
        (["--init-weights", "xavier_uniform(gain=1)"], "cannot read '--init-weights"),
        (["--init-weights", "*.weight=xavier_unform"], "did you mean 'xavier_uniform'?"),
        (["--init-weights", "*=xavier_uniform"], "does not fit the shape"),
        (["--init-weights", "w=eye"], "[init] no parameter fits 'w'"),
    ],
)
def test_mistakes_are_named(mlp, words, message):
    args = step_args(mlp.text, mlp.folder / "inputs.safetensors", 1, "sgd", {},
                     mlp.folder / "out")
    assert message in run_braid(*args, *words, code=2).stderr
    assert not (mlp.folder / "out").exists()


def test_groups_are_part_of_what_a_run_is(mlp):
    words = step_args(mlp.text, mlp.folder / "inputs.safetensors", 2, "sgd", {},
                      mlp.folder / "out", checkpoint_every=1)
    run_braid(*words, "--group", "*.bias: lr=0.1")
    failed = run_braid(*words, "--group", "*.bias: lr=0.2", code=2)
    assert failed.stderr.startswith("[resume] ") and "optimizer" in failed.stderr
