"""`braid step` and `braid inspect` on .pt2 files: what a user meets."""

import json
import re

import pytest
import torch
from braid_run import run_braid, run_members, run_step, save, step_args
from torch import nn
from torch.nn import functional as F


class Classifier(nn.Module):
    """Gives logits; the loss is named on the command line."""

    def __init__(self, dropout=0.0):
        super().__init__()
        self.stem = nn.Linear(6, 8)
        self.norm = nn.BatchNorm1d(8)
        self.drop = nn.Dropout(dropout)
        self.blocks = nn.ModuleList(nn.Linear(8, 8) for _ in range(3))
        self.head = nn.Linear(8, 4)

    def forward(self, x):
        h = self.drop(self.norm(self.stem(x)).relu())
        for block in self.blocks:
            h = h + block(h).tanh()
        return self.head(h), h


class WithLoss(Classifier):
    def forward(self, x, y):
        return F.cross_entropy(super().forward(x)[0], y)


class Fourier(WithLoss):
    def forward(self, x, y):
        return super().forward(torch.fft.rfft(x).abs() @ torch.ones(4, 6), y)


class Branches(nn.Module):
    """Three things that cannot be trained."""

    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(6, 6)

    def forward(self, x):
        h = self.fc(x)
        h = h + torch.bernoulli(torch.full_like(h, 0.5))
        h = torch.cond(h.sum() > 0, lambda v: v * 2, lambda v: v * 3, (h,))
        return (h + torch.rand_like(h)).sum()


def export(path, module, inputs, dynamic=None):
    module.train()
    program = torch.export.export(module, inputs, strict=False, dynamic_shapes=dynamic)
    torch.export.save(program, path)
    return path


@pytest.fixture(name="batch")
def make_batch(tmp_path):
    torch.manual_seed(0)
    tensors = {"x": torch.randn(8, 6), "y": torch.randint(0, 4, (8,))}
    return tensors, save(tmp_path / "batch.safetensors", tensors)


def test_a_loss_can_be_named(tmp_path, batch):
    tensors, inputs = batch
    module = Classifier()
    file = export(tmp_path / "net.pt2", module, (tensors["x"],))
    got = run_step(
        file, inputs, 1, "sgd", {"lr": 0.1}, tmp_path / "out",
        loss="cross_entropy", output="0", target="y",
    )  # fmt: skip
    loss = F.cross_entropy(module(tensors["x"])[0], tensors["y"])
    loss.backward()
    assert got.losses[0] == pytest.approx(loss.item(), rel=1e-5)
    for name, parameter in module.named_parameters():
        assert torch.allclose(got.grads[name], parameter.grad, atol=1e-6), name


def test_wrong_names_of_losses_are_explained(tmp_path, batch):
    tensors, inputs = batch
    file = export(tmp_path / "net.pt2", Classifier(), (tensors["x"],))

    def refused(**options):
        args = step_args(file, inputs, 1, "sgd", {}, tmp_path / "out", **options)
        return run_braid(*args, code=1 if "loss" in options or not options else 2).stderr

    assert "no output is a loss" in refused()
    assert "did you mean 'cross_entropy'" in refused(loss="crossentropy", target="y")
    assert "'z' of the loss is not among" in refused(loss="cross_entropy", target="z")
    assert "no output 'logits'" in refused(loss="mse", output="logits", target="y")
    assert not (tmp_path / "out").exists()


def test_a_dynamic_batch_is_that_of_the_inputs(tmp_path, batch):
    tensors, _ = batch
    any_size = torch.export.Dim("n", min=2)
    shapes = {"x": {0: any_size}, "y": {0: any_size}}
    module = WithLoss()
    file = export(tmp_path / "net.pt2", module, tuple(tensors.values()), shapes)
    for size in (3, 8):
        part = {name: t[:size] for name, t in tensors.items()}
        inputs = save(tmp_path / f"{size}.safetensors", part)
        got = run_step(file, inputs, 1, "sgd", {}, tmp_path / f"out{size}")
        want = module(**part).item()
        assert got.losses[0] == pytest.approx(want, rel=1e-5)


def test_a_fixed_batch_refuses_another_size(tmp_path, batch):
    tensors, _ = batch
    file = export(tmp_path / "net.pt2", WithLoss(), tuple(tensors.values()))
    inputs = save(tmp_path / "3.safetensors", {name: t[:3] for name, t in tensors.items()})
    args = step_args(file, inputs, 1, "sgd", {}, tmp_path / "out")
    text = run_braid(*args, code=1).stderr
    assert "'x' is [3, 6], the model was exported for [8, 6]" in text and "HINT" in text


def test_everything_that_cannot_be_trained_is_told_at_once(tmp_path):
    file = export(tmp_path / "net.pt2", Branches(), (torch.randn(3, 6),))
    text = run_braid("inspect", file, code=1).stderr
    assert "control flow" in text and "bernoulli" in text and "random" in text
    assert "test_pt2_cli.py" in text  # the user's line


def test_segments_plans_and_resume_work_on_imported_models(tmp_path, batch):
    tensors, inputs = batch
    file = export(tmp_path / "net.pt2", WithLoss(0.2), tuple(tensors.values()))
    text = run_braid("inspect", file).stdout
    for name in ("stem", "blocks.0", "blocks.1", "blocks.2", "head", "ops run by libtorch: none"):
        assert name in text
    run = ("adamw", {"lr": 0.01})
    whole = run_step(file, inputs, 6, *run, tmp_path / "a", threads=1)
    peak = json.loads((tmp_path / "a" / "memory.json").read_text())["predicted_peak_bytes"]
    less = run_step(
        file, inputs, 6, *run, tmp_path / "b", threads=1, memory_limit=str(int(peak * 0.8))
    )
    assert less.raw() == whole.raw()
    run_step(file, inputs, 3, *run, tmp_path / "c", threads=1, checkpoint_every=3)
    resumed = run_step(file, inputs, 6, *run, tmp_path / "c", threads=1, checkpoint_every=3)
    assert resumed.raw() == whole.raw()


def test_dropout_rates_are_values_of_members(tmp_path, batch):
    tensors, inputs = batch
    file = export(tmp_path / "net.pt2", WithLoss(0.3), tuple(tensors.values()))
    members = tmp_path / "members.yaml"
    members.write_text("- {dropout: 0.0, seed: 1}\n- {seed: 1}\n- {seed: 2}\n")
    none, some, other = run_members(
        file, inputs, 1, "sgd", {"lr": 0.1}, tmp_path / "out", members=members
    )
    plain = WithLoss(0.0)
    plain.load_state_dict(torch.export.load(file).state_dict)
    want = plain(**tensors).item()
    assert none.losses[0] == pytest.approx(want, rel=1e-5)
    assert len({none.losses[0], some.losses[0], other.losses[0]}) == 3
    alone = run_step(file, inputs, 1, "sgd", {"lr": 0.1}, tmp_path / "solo", seed=2)
    assert alone.losses[0] == pytest.approx(other.losses[0], rel=1e-6)


def test_initial_values_come_from_the_file_unless_others_are_asked_for(tmp_path, batch):
    tensors, inputs = batch
    module = WithLoss()
    file = export(tmp_path / "net.pt2", module, tuple(tensors.values()))
    lr0 = {"lr": 0}
    kept = run_step(file, inputs, 1, "sgd", lr0, tmp_path / "a").state
    assert torch.equal(kept["head.weight"], module.head.weight)
    asked = run_step(
        file, inputs, 1, "sgd", lr0, tmp_path / "b", init_weights="head.weight=orthogonal"
    ).state
    rows = asked["head.weight"] @ asked["head.weight"].T
    assert torch.allclose(rows, torch.eye(4), atol=1e-5)
    assert torch.equal(asked["stem.weight"], module.stem.weight)
    init = {name: torch.zeros_like(t) for name, t in module.state_dict().items()}
    given = run_step(
        file, inputs, 1, "sgd", lr0, tmp_path / "c", init=save(tmp_path / "i.safetensors", init)
    ).state
    assert not given["stem.weight"].any()


def test_inspect_tells_what_libtorch_runs(tmp_path, batch):
    tensors, _ = batch
    file = export(tmp_path / "net.pt2", Fourier(), tuple(tensors.values()))
    text = run_braid("inspect", file).stdout
    line = re.search(r"ops run by libtorch: (.*); (\d+) % of the time", text)
    assert "aten::fft_rfft" in line[1] and 0 < int(line[2]) <= 100
    assert "loops over members: torch_op" in text


def test_the_form_is_train_or_eval(tmp_path, batch):
    _, inputs = batch
    args = ["step", "mlp", "--inputs", inputs, "--form", "evil", "--out", tmp_path / "out"]
    assert "--form is train or eval" in run_braid(*args, code=2).stderr
