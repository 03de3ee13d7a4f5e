"""Tables with missing cells, words and numbers of any scale, texts as words, and clouds of
points: a run sees what numpy makes of the same files, and keeps what it learned of them."""

import json

import models
import numpy as np
import pytest
import torch
from braid_run import run_braid
from data_order import batches, split
from exporting import export
from job_case import SAMPLES, Case
from job_run import JobRun, far, save_init, train
from plain_training import evaluate_plain, train_plain
from torch import nn
from train_jobs import check_message

TRAIN, EVAL = SAMPLES, 11
KINDS = ["iris", "oak", "rose", "yew"]


def draw_table(rows, seed):
    """Four columns of numbers, some of them missing, one of words, and a label."""
    random = np.random.default_rng(seed)
    numbers = random.normal([1, -50, 0.001, 7], [2, 900, 0.01, 1], size=(rows, 4))
    numbers[random.random((rows, 4)) < 0.15] = np.nan
    return numbers, random.integers(2, size=rows), random.integers(4, size=rows)


def write_table(path, table):
    marks = ["", "NA", "nan", "?"]
    lines = ["a,b,colour,c,d,kind"]
    for i, (numbers, word, label) in enumerate(zip(*table, strict=True)):
        a, b, c, d = (marks[i % 4] if np.isnan(n) else f"{n:.6f}" for n in numbers)
        lines.append(f"{a},{b},{['red', 'blue'][word]},{c},{d},{KINDS[label]}")
    path.write_text("\n".join(lines) + "\n")


def prepared(table, learned_from, fill):
    """The table as tensors, with statistics of these rows of the training table."""
    numbers, words, labels = table
    numbers = np.array([[float(f"{n:.6f}") for n in row] for row in numbers])
    train = np.array([[float(f"{n:.6f}") for n in row] for row in learned_from])
    value = {"mean": np.nanmean, "median": np.nanmedian}[fill](train, axis=0)
    train = np.where(np.isnan(train), value, train)
    numbers = np.where(np.isnan(numbers), value, numbers)
    numbers = (numbers - train.mean(0)) / train.std(0)
    hot = np.eye(2)[1 - words]  # blue comes before red
    x = np.concatenate([numbers[:, :2], hot, numbers[:, 2:]], axis=1)
    return {"x": torch.from_numpy(x.astype(np.float32)), "y": torch.from_numpy(labels)}


def table_case(folder, fill, **data):
    train = draw_table(TRAIN, 1)
    write_table(folder / "train.csv", train)
    tensors = prepared(train, train[0], fill)
    case = Case(folder, "mlp", dtype="f32", data=tensors, seed=3)
    case.job["data"] = {
        "source": "csv", "file": "train.csv", "missing": fill, "standardise": True,
        "categories": "one_hot",
    } | data  # fmt: skip
    return case, train


@pytest.mark.parametrize("fill", ["mean", "median"])
def test_evaluation_data_are_read_by_what_training_taught(tmp_path, fill):
    case, train = table_case(tmp_path, fill)
    held = draw_table(EVAL, 2)
    write_table(tmp_path / "eval.csv", held)
    case.job["eval"] = {"data": {"source": "csv", "file": "eval.csv"}}
    run = case.check(1e-4)
    want = evaluate_plain(case.twin, prepared(held, train[0], fill), 16)
    own = evaluate_plain(case.twin, prepared(held, held[0], fill), 16)
    assert run.evaluation["loss"] == pytest.approx(want["loss"], rel=1e-4)
    assert abs(own["loss"] - want["loss"]) > 1e-3, "the test shows nothing"
    known = json.loads((tmp_path / "run" / "data.json").read_text())
    x, y = known["fields"]
    assert y["class_names"] == KINDS
    assert [c["name"] for c in x["table"]["columns"]] == ["a", "b", "colour", "c", "d"]
    assert x["table"]["columns"][2]["categories"] == ["blue", "red"]


def test_rows_that_are_held_back_teach_nothing(tmp_path):
    case, train = table_case(tmp_path, "mean", split={"eval": 0.3, "seed": 5})
    rows, held = split(TRAIN, 0.3, 5)
    tensors = prepared(train, train[0][rows], "mean")
    case.data = {name: t[rows] for name, t in tensors.items()}
    run = case.check(1e-4)
    want = evaluate_plain(case.twin, {name: t[held] for name, t in tensors.items()}, 16)
    assert run.evaluation["loss"] == pytest.approx(want["loss"], rel=1e-4)


def test_a_resumed_run_reads_its_table_as_before(tmp_path):
    case, _ = table_case(tmp_path, "median", split=0.3)
    whole = train(tmp_path, case.job, out="whole")
    train(tmp_path, case.job | {"steps": 4}, out="cut")
    config = tmp_path / "cut" / "config.yaml"
    config.write_text(config.read_text().replace("steps: 4\n", "steps: 9\n"))
    run_braid("resume", tmp_path / "cut", "-q")
    assert far(JobRun(tmp_path / "cut").state(), whole.state()) == 0


def test_codes_feed_an_embedding(tmp_path):
    """Words as numbers of their own field, with one for those that training lacks."""

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.words, self.head = nn.Embedding(4, 3), nn.Linear(4, 2)

        def forward(self, x, codes):
            return self.head(torch.cat([x, self.words(codes).flatten(1)], 1))

    rows = [(i % 5, ["fig", "elm", "ash"][i % 3], i % 2) for i in range(20)]
    (tmp_path / "t.csv").write_text("".join(f"{a},{w},{y}\n" for a, w, y in rows))
    (tmp_path / "e.csv").write_text("1,ash,0\n2,gum,1\n3,fig,1\n")
    torch.manual_seed(0)
    example = {"x": torch.randn(4, 1), "codes": torch.zeros(4, 1, dtype=torch.long)}
    export(Net(), example, tmp_path / "net.pt2", dynamic=[0])
    job = {
        "model": "net.pt2", "loss": "cross_entropy", "target": "y", "steps": 3, "threads": 1,
        "data": {"source": "csv", "file": "t.csv", "categories": "codes", "unknown": "own"},
        "eval": {"data": {"source": "csv", "file": "e.csv"}}, "batch_size": 4,
    }  # fmt: skip
    run = train(tmp_path, job)
    twin = Net()
    twin.load_state_dict(run.state())
    with torch.no_grad():
        scores = twin(torch.tensor([[1.0], [2], [3]]), torch.tensor([[0], [3], [2]]))
    want = torch.nn.functional.cross_entropy(scores, torch.tensor([0, 1, 1])).item()
    assert run.evaluation["loss"] == pytest.approx(want, rel=1e-5)
    strict = run_braid("validate", tmp_path / "job.yaml", "data.unknown=error", code=1)
    check_message(strict.stderr, ["e.csv, line 2", "'gum'", "unknown: own"])


def numbered(text, vocabulary):
    """Tokens as data sets of words have them."""
    words = [w for line in text.splitlines() for w in [*line.split(), "<eos>"]]
    return torch.tensor([vocabulary.get(w, 0) for w in words])


def frequent(text, most):
    counts = {}
    for word in text.split():
        counts[word] = counts.get(word, 0) + 1
    order = sorted(counts, key=lambda w: (-counts[w], w.encode()))
    return {w: i for i, w in enumerate(["<unk>", "<eos>", *order[: most - 2]])}


def test_a_language_model_of_words(tmp_path):
    random = np.random.default_rng(9)
    words = [f"w{i}" for i in range(30)] + ["été", "日本"]

    def draw(count):
        picks = np.minimum(random.geometric(0.12, count) - 1, len(words) - 1)
        ends = random.choice([" ", "\n", " \n\n"], size=count, p=[0.8, 0.1, 0.1])
        return "".join(words[i] + end for i, end in zip(picks, ends, strict=True))

    texts = {"train": draw(500), "valid": draw(120) + "never seen\n"}
    for part, text in texts.items():
        (tmp_path / f"{part}.txt").write_text(text, encoding="utf-8")
    vocabulary, length = frequent(texts["train"], 20), 5

    def windows(text):
        row = numbered(text, vocabulary)
        starts = range(0, len(row) - length, length)
        return {
            "tokens": torch.stack([row[s : s + length] for s in starts]),
            "targets": torch.stack([row[s + 1 : s + 1 + length] for s in starts]),
        }

    sizes = {"width": 8, "heads": 1, "layers": 1, "positions": 8, "dropout": 0}
    twin = models.make("transformer_lm", torch.float64, length=length, vocab=20, **sizes)
    common = {"source": "text", "length": length, "val_fraction": 0}
    job = {
        "model": "transformer_lm(width=8,heads=1,layers=1,positions=8,dropout=0)",
        "data": common | {"file": "train.txt", "unit": "words", "vocab": 20},
        "eval": {"data": common | {"file": "valid.txt"}},
        "optimizer": {"kind": "adamw", "lr": 3e-3, "weight_decay": 0.1}, "steps": 12,
        "batch_size": 8, "threads": 1, "dtype": "f64", "log_every": 1,
        "init": save_init(tmp_path / "init.safetensors", twin),
    }  # fmt: skip
    run = train(tmp_path, job)
    optimizer = torch.optim.AdamW(twin.parameters(), lr=3e-3, weight_decay=0.1)
    want = train_plain(twin, batches(windows(texts["train"]), job, 12), optimizer)
    assert far(run.losses, want) < 1e-9
    want = evaluate_plain(twin, windows(texts["valid"]), 8)["loss"]
    assert run.evaluation["loss"] == pytest.approx(want, rel=1e-9)
    known = json.loads((tmp_path / "run" / "data.json").read_text())["fields"][0]
    assert known["class_names"] == list(vocabulary) and known["unit"] == "words"


@pytest.mark.parametrize("labels", ["cloud", "points"])
def test_clouds_train_pointnets(tmp_path, labels):
    random = np.random.default_rng(2)
    for kind in ("ball", "rod"):
        (tmp_path / "shapes" / kind).mkdir(parents=True)
        for cloud in range(6):
            points = random.normal(size=(40, 3)) * ([1, 1, 1] if kind == "ball" else [3, 0.1, 0.1])
            base = tmp_path / "shapes" / kind / f"{cloud}"
            np.savetxt(base.with_suffix(".pts"), points)
            np.savetxt(base.with_suffix(".seg"), 1 + (points[:, 0] > 0), fmt="%d")
    model = "pointnet_cls(classes=2,points=32)" if labels == "cloud" else (
        "pointnet_seg(classes=4,points=32)"
    )  # fmt: skip
    data = {"source": "clouds", "folder": "shapes", "points": 32, "labels": labels, "split": 4}
    job = {"model": model, "data": data, "steps": 2, "batch_size": 4, "threads": 1}
    run = train(tmp_path, job)
    assert 0 <= run.evaluation["accuracy"] <= 1
    names = json.loads((tmp_path / "run" / "data.json").read_text())["fields"][1]["class_names"]
    assert names == (["ball", "rod"] if labels == "cloud" else
                     ["ball/1", "ball/2", "rod/1", "rod/2"])  # fmt: skip
