"""Metrics of evaluations against formulas written here, over all data at once.

Weights and features are small whole numbers, so that scores are exact and many are equal.
"""

import csv
import json
import math

import numpy as np
import pytest
import torch
from braid_run import run_braid, save
from job_run import JobRun, train
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

MEANS = ["macro", "micro", "weighted"]
OF_CLASSES = ["accuracy", "top1", "top2", "top3", "auc"] + [
    f"{kind}_{mean}" for kind in ("precision", "recall", "f1") for mean in MEANS
]
OF_NUMBERS = ["mae", "mse", "rmse", "r2"]
FEATURES, HIDDEN = 3, 4


def draw_weights(seed, outputs):
    rng = np.random.default_rng(seed)
    shapes = {
        "layers.0.weight": (HIDDEN, FEATURES), "layers.0.bias": (HIDDEN,),
        "head.weight": (outputs, HIDDEN), "head.bias": (outputs,),
    }  # fmt: skip
    return {name: rng.integers(-2, 3, shape).astype(np.float64) for name, shape in shapes.items()}


def scores_of(weights, x):
    hidden = np.maximum(x @ weights["layers.0.weight"].T + weights["layers.0.bias"], 0)
    return hidden @ weights["head.weight"].T + weights["head.bias"]


def save_arrays(path, arrays):
    return str(save(path, {name: torch.tensor(a) for name, a in arrays.items()}))


def job_of(folder, weights, x, y, metrics, **extra):
    """A job that changes nothing and is evaluated once, in batches that do not divide."""
    outputs = len(weights["head.bias"])
    data = {"source": "safetensors",
            "file": save_arrays(folder / "data.safetensors", {"x": x, "y": y})}  # fmt: skip
    return {
        "model": f"mlp(features={FEATURES},hidden={HIDDEN},layers=1,classes={outputs})",
        "data": data,
        "eval": {"data": data, "metrics": metrics, "batch_size": 8},
        "optimizer": {"kind": "sgd", "lr": 0}, "steps": 1, "batch_size": 4, "dtype": "f64",
        "init": save_arrays(folder / "init.safetensors", weights), "threads": 1,
    } | extra  # fmt: skip


def draw_x(rows, seed=0):
    return np.random.default_rng(seed).integers(-2, 3, (rows, FEATURES)).astype(np.float64)


# --- the formulas


def share(part, whole):
    return part / whole if whole else 0.0


def class_metrics(scores, y):
    """As scikit-learn has them; targets of -100 count nowhere."""
    scores, y = scores[y >= 0], y[y >= 0]
    taken = scores.argmax(1)
    own = scores[np.arange(len(y)), y]
    rank = (scores > own[:, None]).sum(1)
    values = {"accuracy": (taken == y).mean()}
    values |= {f"top{k}": (rank < k).mean() for k in (1, 2, 3)}
    present = sorted(set(y) | set(taken))
    rows = []
    for c in present:
        right = int(((y == c) & (taken == c)).sum())
        support, predicted = int((y == c).sum()), int((taken == c).sum())
        rows.append((share(right, predicted), share(right, support),
                     share(2 * right, predicted + support), support))  # fmt: skip
    for i, kind in enumerate(("precision", "recall", "f1")):
        values[f"{kind}_macro"] = sum(r[i] for r in rows) / len(rows)
        values[f"{kind}_weighted"] = sum(r[i] * r[3] for r in rows) / len(y)
        values[f"{kind}_micro"] = (taken == y).mean()
        of_one = dict(zip(present, rows, strict=True)).get(1)
        values[kind] = of_one[i] if of_one else 0.0
    values["auc"] = auc(scores, y)
    return values


def area(score, positive):
    wins = [(p > n) + (p == n) / 2 for p in score[positive] for n in score[~positive]]
    return float(np.mean(wins)) if wins else math.nan


def auc(scores, y):
    if scores.shape[1] == 2:
        return area(scores[:, 1] - scores[:, 0], y == 1)
    # In this form equal rows have equal numbers.
    logs = scores - np.log(np.exp(scores - scores.max(1, keepdims=True)).sum(1, keepdims=True))
    logs -= scores.max(1, keepdims=True)
    return float(np.mean([area(logs[:, c], y == c) for c in range(scores.shape[1])]))


def number_metrics(predicted, y):
    error = predicted - y
    values = {"mae": np.abs(error).mean(), "mse": (error**2).mean(),
              "rmse": np.sqrt((error**2).mean(0)).mean()}  # fmt: skip
    spread, squared = ((y - y.mean(0)) ** 2).sum(0), (error**2).sum(0)
    each = [1 - e / s if s else float(e == 0) for e, s in zip(squared, spread, strict=True)]
    values["r2"] = float(np.mean(each)) if len(y) > 1 else math.nan
    return values


def assert_values(row, want, names):
    for name in names:
        got = math.nan if row[name] is None else row[name]
        assert got == pytest.approx(want[name], abs=1e-12, nan_ok=True), name


# --- classes


def labels(rows, classes, seed=1):
    return np.random.default_rng(seed).integers(0, classes, rows)


CLASS_CASES = {
    "five": (5, labels(21, 5)),
    "a class without targets": (5, labels(21, 3)),
    "one class alone": (5, np.full(21, 2)),
    "one row": (5, np.array([3])),
    "ignored": (4, np.where(np.arange(21) % 3 == 0, -100, labels(21, 4))),
    "a batch of ignored": (4, np.where(np.arange(21) < 8, -100, labels(21, 4))),
    "two": (2, labels(21, 2)),
    "two, no positive": (2, np.zeros(9, np.int64)),
    "two, one row": (2, np.array([1])),
}


@pytest.mark.parametrize("name", CLASS_CASES)
def test_metrics_of_classes(tmp_path, name):
    classes, y = CLASS_CASES[name]
    weights, x = draw_weights(3, classes), draw_x(len(y))
    names = OF_CLASSES + (["precision", "recall", "f1"] if classes == 2 else [])
    run = train(tmp_path, job_of(tmp_path, weights, x, y, names))
    want = class_metrics(scores_of(weights, x), y)
    assert_values(run.evaluation, want, names)
    if name == "five":
        assert len(np.unique(scores_of(weights, x), axis=0)) < len(x), "no score is there twice"


def test_each_member_of_an_array_has_its_own(tmp_path):
    y = labels(21, 4)
    x = draw_x(21)
    members, want = [], {}
    for seed in range(3):
        weights = draw_weights(seed + 5, 4)
        file = save_arrays(tmp_path / f"init{seed}.safetensors", weights)
        members.append({"name": f"m{seed}", "init.file": file})
        want[f"m{seed}"] = class_metrics(scores_of(weights, x), y)
    job = job_of(tmp_path, draw_weights(5, 4), x, y, OF_CLASSES)
    job["eval"]["tables"] = ["confusion"]
    job["init"] = {"file": job["init"]}
    (tmp_path / "list.yaml").write_text(json.dumps(job | {"members": members}))
    run_braid("train", tmp_path / "list.yaml", "--out", tmp_path / "out", "-q")
    assert (tmp_path / "out" / "array-0").exists()
    for name, values in want.items():
        assert_values(JobRun(tmp_path / "out" / name).evaluation, values, OF_CLASSES)
    matrices = {(tmp_path / "out" / n / "confusion.csv").read_text() for n in want}
    assert len(matrices) == 3


@pytest.mark.parametrize("loss", ["bce_with_logits", "bce"])
def test_a_binary_cross_entropy_decides_between_two(tmp_path, loss):
    names = ["precision", "recall", "f1", "f1_macro", "auc"]
    weights, x = draw_weights(4, 1), draw_x(21)
    if loss == "bce":  # probabilities of 0, 1/4, 1/2, ...
        weights["head.weight"] = np.abs(weights["head.weight"]) / 64
        weights["head.bias"] = np.full(1, 0.25)
    else:
        weights["head.bias"] += 1  # some scores are right in the middle
    y = labels(21, 2).astype(np.float64)
    run = train(tmp_path, job_of(tmp_path, weights, x, y, names, loss=loss))
    score = scores_of(weights, x)[:, 0]
    middle = 0.5 if loss == "bce" else 0.0
    assert (score == middle).any() or loss == "bce"
    as_two = np.stack([np.full(21, middle), score], 1)
    assert_values(run.evaluation, class_metrics(as_two, y.astype(np.int64)), names)


# --- numbers

NUMBER_CASES = {
    "three columns": lambda rng: rng.normal(size=(21, 3)) * [1, 100, 1e-3] + [0, 1e6, 0],
    "a target that never changes": lambda rng: np.tile([[0.5, 1.5, 2.0]], (21, 1)),
    "one row": lambda rng: rng.normal(size=(1, 3)),
}


@pytest.mark.parametrize("name", NUMBER_CASES)
def test_metrics_of_numbers(tmp_path, name):
    y = NUMBER_CASES[name](np.random.default_rng(2))
    weights, x = draw_weights(6, 3), draw_x(len(y))
    run = train(tmp_path, job_of(tmp_path, weights, x, y, OF_NUMBERS, loss="mse"))
    want = number_metrics(scores_of(weights, x), y)
    for metric in OF_NUMBERS:
        got = math.nan if run.evaluation[metric] is None else run.evaluation[metric]
        assert got == pytest.approx(want[metric], rel=1e-9, nan_ok=True), metric


# --- tables


def test_tables_are_written_and_shown(tmp_path):
    y = np.where(np.arange(21) == 4, -100, labels(21, 4))
    weights, x = draw_weights(3, 5), draw_x(21)
    job = job_of(tmp_path, weights, x, y, ["loss"])
    job["eval"] |= {"tables": ["classes", "confusion"], "every": 1}
    run = train(tmp_path, job | {"steps": 2})
    known = y >= 0
    taken = scores_of(weights, x).argmax(1)[known]
    want = np.zeros((5, 5), int)
    np.add.at(want, (y[known], taken), 1)
    rows = list(csv.reader((run.folder / "confusion.csv").open()))
    assert rows[0] == ["target", "0", "1", "2", "3", "4"]
    assert np.array_equal(np.array(rows[1:], int)[:, 1:], want)
    classes = list(csv.DictReader((run.folder / "classes.csv").open()))
    assert [int(row["class"]) for row in classes] == [0, 1, 2, 3, 4]
    assert {row["step"] for row in classes} == {"2"}
    for c, row in enumerate(classes):
        right, support, predicted = want[c, c], want[c].sum(), want[:, c].sum()
        assert [int(row[k]) for k in ("targets", "taken", "right")] == [support, predicted, right]
        assert float(row["precision"]) == share(right, predicted)
        assert float(row["recall"]) == share(right, support)
        assert float(row["f1"]) == share(2 * right, support + predicted)
    events = EventAccumulator(str(run.folder)).Reload()
    for table in ("classes", "confusion"):
        shown = events.Tensors(f"eval/{table}/text_summary")
        assert [e.step for e in shown] == [1, 2]
        text = shown[-1].tensor_proto.string_val[0].decode()
        assert text.count("\n") == 7 and text.startswith("| ")
    plugin = events.SummaryMetadata("eval/classes/text_summary").plugin_data.plugin_name
    assert plugin == "text"


def test_tables_name_the_classes_that_the_data_name(tmp_path):
    lines = [f"{i / 9:.3f},{i % 4},{['Köln', 'Bonn', 'a b'][i % 3]}" for i in range(20)]
    (tmp_path / "t.csv").write_text("a,b,town\n" + "\n".join(lines) + "\n")
    job = {"model": "mlp(hidden=4)", "data": {"source": "csv", "file": "t.csv", "split": 0.3},
           "eval": {"tables": ["classes", "confusion"]}, "steps": 2, "batch_size": 8}  # fmt: skip
    run = train(tmp_path, job)
    classes = list(csv.DictReader((run.folder / "classes.csv").open(encoding="utf-8")))
    assert [(row["class"], row["name"]) for row in classes] == [
        ("0", "Bonn"), ("1", "Köln"), ("2", "a b")
    ]  # fmt: skip
    rows = list(csv.reader((run.folder / "confusion.csv").open(encoding="utf-8")))
    assert rows[0] == ["target", "Bonn", "Köln", "a b"]
    assert [row[0] for row in rows[1:]] == rows[0][1:]


# --- what is refused


@pytest.mark.parametrize("changes, words", [
    ({"metrics": ["f1"]}, "f1_macro, f1_micro or f1_weighted"),
    ({"metrics": ["f2"]}, "did you mean 'f1'?"),
    ({"metrics": ["top0"]}, "unknown metric 'top0'"),
    ({"metrics": ["r2"]}, "need a loss that compares numbers"),
    ({"tables": ["confusions"]}, "there are classes and confusion"),
])  # fmt: skip
def test_mistakes_are_named(tmp_path, changes, words):
    job = job_of(tmp_path, draw_weights(0, 3), draw_x(9), labels(9, 3), [])
    job["eval"] |= changes
    path = tmp_path / "job.yaml"
    path.write_text(json.dumps(job))
    text = run_braid("train", path, "--out", tmp_path / "out", code=2).stderr
    assert words in text
    assert not (tmp_path / "out").exists()


def test_targets_between_two_classes_are_refused(tmp_path):
    y = np.array([0.0, 1.0, 0.5, 1.0])
    job = job_of(tmp_path, draw_weights(0, 1), draw_x(4), y, ["auc"], loss="bce_with_logits")
    path = tmp_path / "job.yaml"
    path.write_text(json.dumps(job))
    text = run_braid("train", path, "--out", tmp_path / "out", code=2).stderr
    assert "need targets of 0 and 1, got 0.5" in text


def test_the_best_and_early_stopping_go_by_any(tmp_path):
    job = job_of(tmp_path, draw_weights(1, 3), draw_x(21), labels(21, 3), ["loss", "f1_macro"])
    job["eval"] |= {"early_stop": {"metric": "f1_macro", "patience": 2}, "every": 1}
    run = train(tmp_path, job | {"steps": 9})
    assert len(run.split("eval")) == 3, "nothing gets better without a learning rate"
