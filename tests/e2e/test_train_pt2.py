"""Jobs whose model is a .pt2 file: losses, targets, names, any batch size."""

import copy

import pytest
import torch
from braid_run import run_braid, save
from data_order import batches
from exporting import export
from job_run import far, train
from plain_training import train_plain
from torch import nn
from torch.nn import functional as F

ROWS, FEATURES, CLASSES = 8, 5, 6


class Scores(nn.Module):
    """No loss: forward(features) -> [N, CLASSES]."""

    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(FEATURES, 12), nn.BatchNorm1d(12), nn.Tanh())
        self.head = nn.Linear(12, CLASSES)

    def forward(self, features):
        return self.head(self.body(features))


class WithLoss(nn.Module):
    """Numbers that have names; the loss need not be the first."""

    def __init__(self):
        super().__init__()
        self.net = Scores()

    def forward(self, x, y):
        scores = self.net(x)
        right = (scores.argmax(1) == y).to(x.dtype).mean()
        return {"right": right, "loss": F.cross_entropy(scores, y), "size": scores.square().mean()}


@pytest.fixture(name="data")
def make_data():
    """27 samples: the last batch has 3."""
    generator = torch.Generator().manual_seed(5)
    x = torch.randn(27, FEATURES, generator=generator, dtype=torch.float64)
    return {"x": x, "y": torch.randint(CLASSES, (27,), generator=generator)}


def one_batch(data):
    return {name: t[:ROWS] for name, t in data.items()}


def job_of(folder, data, **more):
    return {
        "model": "net.pt2",
        "data": {"source": "safetensors", "file": str(save(folder / "d.safetensors", data))},
        "optimizer": {"kind": "adamw", "lr": 5e-3, "weight_decay": 0.01},
        "steps": 9,
        "batch_size": ROWS,
        "dtype": "f64",
        "threads": 1,
        "log_every": 1,
    } | more


class Adapter(nn.Module):
    """A twin's call: the loss of a batch by name."""

    def __init__(self, module, loss):
        super().__init__()
        self.module, self.loss = module, loss

    def forward(self, **batch):
        return self.loss(self.module, batch)


def plain(module, loss, data, job):
    twin = Adapter(copy.deepcopy(module), loss)
    optimizer = torch.optim.AdamW(twin.parameters(), lr=5e-3, weight_decay=0.01)
    return twin.module, train_plain(twin, batches(data, job, job["steps"]), optimizer)


def test_a_loss_inside_the_module(tmp_path, data):
    torch.manual_seed(0)
    module = WithLoss().double()
    export(module, one_batch(data), tmp_path / "net.pt2", dynamic=[0])
    job = job_of(tmp_path, data)
    job["eval"] = {"data": job["data"], "metrics": ["loss", "right", "size", "accuracy"]}
    run = train(tmp_path, job)
    twin, want = plain(module, lambda m, b: m(**b)["loss"], data, job)
    assert far(run.losses, want) < 1e-9
    assert far(run.state(), twin.state_dict()) < 1e-9
    with torch.no_grad():  # means over samples, so one batch gives the same
        found = {name: t.item() for name, t in twin.eval()(**data).items()}
    found["accuracy"] = found["right"]
    assert {name: run.evaluation[name] for name in found} == pytest.approx(found, rel=1e-9)


def test_a_named_loss_with_target_and_renamed_inputs(tmp_path, data):
    torch.manual_seed(0)
    module = Scores().double()
    export(module, {"features": data["x"][:ROWS]}, tmp_path / "net.pt2", dynamic=[0])
    job = job_of(
        tmp_path, data, inputs={"x": "features"}, target="y",
        loss="cross_entropy(label_smoothing=0.2)",
    )  # fmt: skip
    run = train(tmp_path, job)

    def loss(module, batch):
        return F.cross_entropy(module(batch["x"]), batch["y"], label_smoothing=0.2)

    twin, want = plain(module, loss, data, job)
    assert far(run.losses, want) < 1e-9
    assert far(run.state(), twin.state_dict()) < 1e-9
    del job["target"]  # the only field that the module does not take
    again = train(tmp_path, job, out="again")
    assert again.losses == run.losses


def test_a_named_loss_takes_the_place_of_that_of_the_file(tmp_path, data):
    torch.manual_seed(0)
    module, file = Scores().double(), tmp_path / "net.pt2"
    example = {"features": data["x"][:ROWS], "y": data["y"][:ROWS]}
    export(module, example, file, dynamic=[0], loss="cross_entropy", target="y")
    job = job_of(tmp_path, data, inputs={"x": "features"}, target="y",
                 loss="cross_entropy(label_smoothing=0.2)")  # fmt: skip
    run = train(tmp_path, job)

    def loss(module, batch):
        return F.cross_entropy(module(batch["x"]), batch["y"], label_smoothing=0.2)

    _, want = plain(module, loss, data, job)
    assert far(run.losses, want) < 1e-9
    export(WithLoss().double(), one_batch(data), file, dynamic=[0])
    (tmp_path / "job.yaml").write_text(str(job | {"inputs": {}}))
    done = run_braid("validate", tmp_path / "job.yaml", code=1)
    assert "nothing but a loss of its own" in done.stderr and "return the scores" in done.stderr
    # What it does give has no row for a sample.
    run = train(tmp_path, job_of(tmp_path, data), out="other")
    words = ["--data", "source=safetensors", f"file={tmp_path / 'd.safetensors'}"]
    done = run_braid("predict", run.folder, *words, "--to", tmp_path / "p.npy", code=2)
    assert "so there is nothing to predict" in done.stderr


def test_a_loss_compares_with_what_the_model_is_given(tmp_path, data):
    torch.manual_seed(0)
    module = nn.Sequential(nn.Linear(FEATURES, 3), nn.Tanh(), nn.Linear(3, FEATURES)).double()
    export(module, {"input": data["x"][:ROWS]}, tmp_path / "net.pt2", dynamic=[0])
    job = job_of(tmp_path, {"input": data["x"]}, loss="mse", target="input")
    run = train(tmp_path, job)
    _, want = plain(module, lambda m, b: F.mse_loss(m(b["input"]), b["input"]),
                    {"input": data["x"]}, job)  # fmt: skip
    assert far(run.losses, want) < 1e-9


def test_a_named_loss_of_numbers(tmp_path, data):
    torch.manual_seed(0)
    module = Scores().double()
    data = {"features": data["x"], "wanted": torch.sin(data["x"][:, [0, 1, 2, 3, 4, 0]])}
    export(module, {"features": data["features"][:ROWS]}, tmp_path / "net.pt2", dynamic=[0])
    job = job_of(tmp_path, data, loss="mse")
    run = train(tmp_path, job)
    _, want = plain(module, lambda m, b: F.mse_loss(m(b["features"]), b["wanted"]), data, job)
    assert far(run.losses, want) < 1e-9


def test_a_fixed_batch_needs_full_batches(tmp_path, data):
    module = WithLoss().double()
    export(module, one_batch(data), tmp_path / "net.pt2")
    job = job_of(tmp_path, data, drop_last=True)
    run = train(tmp_path, job)
    _, want = plain(module, lambda m, b: m(**b)["loss"], data, job)
    assert far(run.losses, want) < 1e-9
    done = run_braid(
        "train", tmp_path / "job.yaml", "drop_last=false", "--out", tmp_path / "no", code=2
    )
    assert "drop_last: true" in done.stderr and "3 rows" in done.stderr


def test_states_exchange_both_ways(tmp_path, data):
    """The run's file in the module, and another module's state in a run."""
    torch.manual_seed(0)
    module, other = WithLoss().double(), WithLoss().double()
    export(module, one_batch(data), tmp_path / "net.pt2", dynamic=[0])
    init = save(tmp_path / "other.safetensors", other.state_dict())
    job = job_of(tmp_path, data, init=str(init))
    run = train(tmp_path, job)
    twin, want = plain(other, lambda m, b: m(**b)["loss"], data, job)
    assert far(run.losses, want) < 1e-9
    module.load_state_dict(run.state(), strict=True)
    with torch.no_grad():
        got, expected = module.eval()(**data), twin.eval()(**data)
    assert got["loss"].item() == pytest.approx(expected["loss"].item(), rel=1e-9)
