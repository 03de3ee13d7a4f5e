"""`braid predict`: PyTorch's predictions of the same weights, in every format."""

import csv
import json
import os
import shutil
import subprocess

import models
import numpy as np
import pytest
import torch
from braid_run import braid_bin, run_braid, save
from exporting import export
from job_run import JobRun, train
from plain_training import other_loss
from safetensors.torch import load_file
from torch import nn
from torch.nn import functional as F
from train_jobs import BASE

TWIN = {"channels": 4, "side": 6, "blocks": 1, "classes": 7}
MODEL = "resblock(channels=4,side=6,blocks=1,dropout=0.5)"


def draw(rows, seed):
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(rows, 3, 6, 6, generator=generator)
    return {"x": x, "y": torch.randint(7, (rows,), generator=generator)}


def scores_of(twin, x):
    """What a twin compares with the labels, in eval mode."""
    seen, plain = [], F.cross_entropy

    def keep(scores, targets):
        seen.append(scores)
        return plain(scores, targets)

    with torch.no_grad(), other_loss(keep):
        twin.eval()(x=x, y=torch.zeros(len(x), dtype=torch.long))
    return seen[0].numpy()


@pytest.fixture(name="run", scope="module")
def make_run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("predict")
    save(folder / "train.safetensors", draw(45, 1))
    save(folder / "new.safetensors", {"x": draw(29, 2)["x"]})  # without labels
    job = {
        "model": MODEL,
        "data": {"source": "safetensors", "file": "train.safetensors", "classes": 7},
        "optimizer": {"kind": "adam", "lr": 0.01},
        "ema": 0.7,
        "steps": 10,
        "batch_size": 8,
        "threads": 1,
    }
    return train(folder, job)


def new_data(run):
    return ["--data", "source=safetensors", f"file={run.folder.parent / 'new.safetensors'}"]


def want_of(run, name="model_ema", rows=29):
    twin = models.make("resblock", torch.float32, **TWIN)
    twin.load_state_dict(run.state(name), strict=True)
    return scores_of(twin, load_file(run.folder.parent / "new.safetensors")["x"][:rows])


@pytest.mark.parametrize("words", [[], ["--raw"], ["--batch-size", "5"], ["--batch-size", "100"]],
                         ids=["ema", "raw", "fives", "one batch"])  # fmt: skip
def test_data_without_labels(run, tmp_path, words):
    to = tmp_path / "p.npy"
    text = run_braid("predict", run.folder, *words, *new_data(run), "--to", to).stdout
    assert "29 samples" in text and "logits f32[7]" in text
    want = want_of(run, "model" if "--raw" in words else "model_ema")
    got = np.load(to)
    assert got.shape == (29, 7) and got.dtype == np.float32
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)


def test_every_format_holds_the_same_numbers(run, tmp_path):
    for ending in ("npy", "safetensors", "csv"):
        run_braid("predict", run.folder, *new_data(run), "--to", tmp_path / f"p.{ending}")
    plain = np.load(tmp_path / "p.npy")
    tensors = load_file(tmp_path / "p.safetensors")
    assert set(tensors) == {"sample", "logits"}
    assert tensors["sample"].tolist() == list(range(29))
    assert tensors["logits"].numpy().tobytes() == plain.tobytes()
    with open(tmp_path / "p.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["sample", "place", *(f"logits.{i}" for i in range(7))]
    table = np.array([[r[f"logits.{i}"] for i in range(7)] for r in rows], dtype=np.float32)
    assert table.tobytes() == plain.tobytes()
    assert [int(r["sample"]) for r in rows] == list(range(29))
    assert rows[3]["place"].startswith("row 3 of ") and "new.safetensors" in rows[3]["place"]
    with open(tmp_path / "p.rows.csv", newline="") as file:
        beside = list(csv.DictReader(file))
    assert [(r["sample"], r["place"]) for r in beside] == [(r["sample"], r["place"]) for r in rows]


def test_the_classes_with_the_highest_scores(run, tmp_path):
    to, want = tmp_path / "p.safetensors", torch.tensor(want_of(run))
    run_braid("predict", run.folder, *new_data(run), "--top", 3, "--to", to)
    got, best = load_file(to), want.topk(3, 1)
    assert set(got) == {"sample", "class", "score"}
    assert torch.equal(got["class"], best.indices)
    assert torch.allclose(got["score"], best.values, rtol=1e-4, atol=1e-5)
    words = ["predict", run.folder, *new_data(run), "--to", to, "--top"]
    assert "there are 7 classes" in run_braid(*words, 8, code=2).stderr


@pytest.mark.parametrize("rows", [1, 8, 9])
def test_the_first_samples(run, tmp_path, rows):
    to = tmp_path / "p.npy"
    run_braid("predict", run.folder, *new_data(run), "--limit", rows, "--to", to)
    np.testing.assert_allclose(np.load(to), want_of(run, rows=rows), rtol=1e-4, atol=1e-5)


def test_a_file_of_weights_and_a_model(run, tmp_path):
    weights = tmp_path / "w.safetensors"
    shutil.copy(run.checkpoint() / "model.safetensors", weights)
    to = tmp_path / "p.npy"
    model = MODEL.replace("side", "classes=7,side")
    run_braid("predict", weights, "--model", model, *new_data(run), "--to", to)
    np.testing.assert_allclose(np.load(to), want_of(run, "model"), rtol=1e-4, atol=1e-5)


class Heads(nn.Module):
    """Several outputs, one of them no row; dropout, BatchNorm, and a loss inside."""

    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(5, 9), nn.BatchNorm1d(9), nn.Tanh(), nn.Dropout(0.5))
        self.head = nn.Linear(9, 3)

    def forward(self, x, y):
        h = self.body(x)
        scores = self.head(h)
        return {"loss": F.cross_entropy(scores, y), "scores": scores, "best": scores.argmax(1),
                "pairs": h[:, :6].reshape(-1, 2, 3), "size": h.square().mean()}  # fmt: skip


@pytest.fixture(name="exported", scope="module")
def make_exported(tmp_path_factory):
    folder = tmp_path_factory.mktemp("exported")
    torch.manual_seed(0)
    x = torch.randn(27, 5, dtype=torch.float64)
    data = {"x": x, "y": torch.randint(3, (27,))}
    module = Heads().double()
    export(module, {k: t[:8] for k, t in data.items()}, folder / "net.pt2", dynamic=[0])
    save(folder / "d.safetensors", data)
    save(folder / "new.safetensors", {"x": torch.randn(13, 5, dtype=torch.float64)})
    job = {
        "model": "net.pt2", "data": {"source": "safetensors", "file": "d.safetensors"},
        "optimizer": {"kind": "sgd", "lr": 0.1}, "steps": 7, "batch_size": 8, "dtype": "f64",
        "threads": 1,
    }  # fmt: skip
    run = train(folder, job)
    module.load_state_dict(run.state())
    return run, module.eval()


def test_outputs_of_an_exported_module(exported, tmp_path):
    run, module = exported
    to = tmp_path / "p.safetensors"
    run_braid("predict", run.folder, *new_data(run), "--to", to)
    got = load_file(to)
    x = load_file(run.folder.parent / "new.safetensors")["x"]
    with torch.no_grad():
        want = module(x, torch.zeros(13, dtype=torch.long))
    assert set(got) == {"sample", "scores", "best", "pairs"}
    assert got["best"].tolist() == want["best"].tolist()
    for name in ("scores", "pairs"):
        assert (got[name] - want[name]).abs().max() < 1e-9, name
    one = tmp_path / "best.csv"
    run_braid("predict", run.folder, *new_data(run), "--output", "best", "--to", one)
    lines = one.read_text().splitlines()
    assert lines[0] == "sample,place,best" and len(lines) == 14
    text = run_braid("predict", run.folder, *new_data(run), "--top", 1, "--to", to, code=2).stderr
    assert "--top is of one output, and there are scores, best, pairs" in text
    text = run_braid(
        "predict", run.folder, *new_data(run), "--to", tmp_path / "p.npy", code=2
    ).stderr
    assert "holds one output, and there are scores, best, pairs" in text


class Plain(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(5, 3)

    def forward(self, x):
        return self.fc(x)


def test_a_loss_that_the_job_names(tmp_path):
    """The target of the loss is not needed, nor known by its name."""
    torch.manual_seed(1)
    module = Plain()
    data = {"x": torch.randn(21, 5), "label": torch.randint(3, (21,))}
    export(module, {"x": data["x"][:8]}, tmp_path / "net.pt2", dynamic=[0])
    save(tmp_path / "d.safetensors", data)
    save(tmp_path / "new.safetensors", {"x": torch.randn(6, 5)})
    job = {
        "model": "net.pt2", "loss": "cross_entropy", "target": "label",
        "data": {"source": "safetensors", "file": "d.safetensors"}, "steps": 3, "batch_size": 8,
        "threads": 1,
    }  # fmt: skip
    run = train(tmp_path, job)
    module.load_state_dict(run.state())
    to = tmp_path / "p.npy"
    run_braid("predict", run.folder, *new_data(run), "--to", to)
    with torch.no_grad():
        want = module(load_file(tmp_path / "new.safetensors")["x"]).numpy()
    np.testing.assert_allclose(np.load(to), want, rtol=1e-5, atol=1e-6)


def test_a_table_without_the_column_of_labels(tmp_path):
    rows = [f"{i / 9:.3f},{i % 4},{['no', 'yes'][i % 2]}" for i in range(20)]
    (tmp_path / "train.csv").write_text("a,b,out\n" + "\n".join(rows) + "\n")
    run = train(tmp_path, BASE | {"data": {"source": "csv", "file": "train.csv", "label": "out"}})
    new = tmp_path / "ohne Maß, neu.csv"
    new.write_text("a,b\n0.5,1\n0.25,3\n0.125,0\n")
    to = tmp_path / "p.csv"
    run_braid("predict", run.folder, "--data", f"file={new}", "label=", "--to", to)
    with open(to, newline="", encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    twin = models.make("mlp", torch.float32, features=2, hidden=8, classes=2)
    twin.load_state_dict(run.state(), strict=True)
    want = scores_of(twin, torch.tensor([[0.5, 1], [0.25, 3], [0.125, 0]]))
    got = np.array([[float(r["logits.0"]), float(r["logits.1"])] for r in lines])
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)
    assert lines[1]["place"] == f"line 3 of {new}"
    run_braid("predict", run.folder, "--data", f"file={new}", "label=", "--top", 1, "--to", to)
    with open(to, newline="", encoding="utf-8") as file:
        best = [row["class.0"] for row in csv.DictReader(file)]
    assert best == [["no", "yes"][i] for i in want.argmax(1)]


MISTAKES = {
    "no file": (["{run}", "{new}"], "--to FILE is missing"),
    "ending": (["{run}", "{new}", "--to", "p.txt"], ".npy, .safetensors or .csv"),
    "output": (["{run}", "{new}", "--to", "p.npy", "--output", "logit"], "it has logits"),
    "no data": (["{run}", "--to", "p.npy"], "no data but those of training"),
    "own file": (["{run}", "{new}", "--to", "{run}/checkpoints/a.npy"], "is a file of the run"),
    "other data": (["{run}", "--data", "source=glyphs", "--to", "p.npy"], "does not fit the model"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_are_told(run, tmp_path, name):
    words, expected = MISTAKES[name]
    words = [w.format(run=run.folder, new="{new}") for w in words]
    at = words.index("{new}") if "{new}" in words else None
    if at is not None:
        words[at : at + 1] = new_data(run)
    done = run_braid("predict", *words, code=2, cwd=tmp_path)
    assert expected in done.stderr and not list(tmp_path.iterdir())


def test_memory_does_not_grow_with_the_data(tmp_path):
    """40 MB of predictions pass through a process that keeps none of them."""
    job = {
        "model": "mlp(hidden=4,layers=1,classes=2000)", "steps": 1, "batch_size": 50, "threads": 1,
        "data": {"source": "npy", "files": ["x=x.npy", "y=y.npy"], "classes": 2000},
    }  # fmt: skip
    np.save(tmp_path / "x.npy", np.zeros((5000, 2), dtype=np.float32))
    np.save(tmp_path / "y.npy", np.zeros(5000, dtype=np.int64))
    run = train(tmp_path, job)

    def peak(count):
        to = tmp_path / f"{count}.npy"
        data = ["--data", "source=npy", f"files=[x={tmp_path}/x.npy]", "--limit", count]
        command = [braid_bin(), "predict", run.folder, *data, "--to", to]
        process = subprocess.Popen([str(word) for word in command])
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = status
        assert status == 0 and np.load(to, mmap_mode="r").shape == (count, 2000)
        return usage.ru_maxrss * 1024

    small, large = peak(100), peak(5000)
    assert large - small < 20e6, f"{small} and {large} bytes"


def test_of_a_split_what_is_held_back_is_predicted_and_other_data_are_read_alike(tmp_path):
    """57 rows with words and missing cells; the network's own arithmetic in torch."""
    towns, lines = ["Ulm", "Köln", "Bonn"], ["age,town,label"]
    lines += [f"{'' if i % 7 == 3 else i % 50},{towns[i * i % 3]},{'ny'[i % 2]}" for i in range(57)]
    (tmp_path / "table.csv").write_text("\n".join(lines) + "\n")
    (tmp_path / "new.csv").write_text("\n".join(lines[:6]) + "\n")
    data = {"source": "csv", "file": "table.csv", "label": "label", "missing": "mean",
            "standardise": True, "categories": "one_hot",
            "split": {"eval": 0.2, "seed": 1}}  # fmt: skip
    job = {"model": "mlp(hidden=8)", "data": data, "epochs": 2, "batch_size": 8}
    (tmp_path / "job.yaml").write_text(json.dumps(job))
    run_braid("train", "job.yaml", "--out", "run", "-q", cwd=tmp_path)
    run_braid("predict", "run", "--to", "held.csv", cwd=tmp_path)
    assert len((tmp_path / "held.csv").read_text().splitlines()) == 1 + 11
    run_braid("predict", "run", "--data", "file=new.csv", "--to", "new.npy", cwd=tmp_path)
    known = json.loads((tmp_path / "run" / "data.json").read_text())["fields"]
    table = next(f["table"] for f in known if f["name"] == "x")
    rows = []
    for line in lines[1:6]:
        cells = dict(zip(("age", "town"), line.split(",")[:2], strict=True))
        row = []
        for column in table["columns"]:
            cell = cells[column["name"]]
            if column["is_category"]:
                row += [float(cell == name) for name in column["categories"]]
            else:
                value = float(cell) if cell else column["fill"]
                row.append((value - column["mean"]) / column["deviation"])
        rows.append(row)
    state, x = JobRun(tmp_path / "run").state(), torch.tensor(rows)
    for name in ("layers.0", "layers.1"):
        x = torch.relu(x @ state[f"{name}.weight"].T + state[f"{name}.bias"])
    want = x @ state["head.weight"].T + state["head.bias"]
    assert np.abs(np.load(tmp_path / "new.npy") - want.numpy()).max() < 1e-5
