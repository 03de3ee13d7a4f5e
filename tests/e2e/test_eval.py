"""`braid eval`: what training counted, bit for bit, and what PyTorch counts on other data."""

import json
import re
import shutil

import models
import pytest
import torch
from braid_run import run_braid, save
from job_run import JobRun, train
from plain_training import evaluate_plain
from safetensors.torch import load_file
from train_jobs import BASE, write_table

MODEL = "resblock(channels=4,side=6,blocks=1,dropout=0.2)"
TWIN = {"channels": 4, "side": 6, "blocks": 1, "classes": 7}


def draw(rows, seed, classes=7):
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(rows, 3, 6, 6, generator=generator)
    return {"x": x, "y": torch.randint(classes, (rows,), generator=generator)}


def evaluate(*words):
    return json.loads(run_braid("eval", *words, "--json").stdout)


@pytest.fixture(name="run", scope="module")
def make_run(tmp_path_factory):
    """Averaged weights, dropout, BatchNorm; the last batches have 5 and 3 rows."""
    folder = tmp_path_factory.mktemp("eval")
    for name, rows, seed in (("train", 45, 1), ("held", 27, 2), ("other", 19, 3)):
        save(folder / f"{name}.safetensors", draw(rows, seed))
    source = {"source": "safetensors", "classes": 7}
    job = {
        "model": MODEL,
        "data": source | {"file": "train.safetensors"},
        "eval": {"data": source | {"file": "held.safetensors"}, "every": 4},
        "optimizer": {"kind": "adam", "lr": 0.01},
        "ema": 0.7,
        "steps": 12,
        "batch_size": 8,
        "threads": 1,
        "checkpoint": {"every": 4, "keep": 9},
    }
    return train(folder, job)


def numbers(row):
    return {k: row[k] for k in ("loss", "accuracy")}


@pytest.mark.parametrize("metrics", [[], ["--metrics", "loss,accuracy"]], ids=["all", "two"])
@pytest.mark.parametrize("raw", [False, True], ids=["averaged", "raw"])
def test_the_numbers_of_training_to_the_bit(run, raw, metrics):
    rows = run.split("eval_raw" if raw else "eval")
    assert [row["step"] for row in rows] == [4, 8, 12]
    for row in rows:
        words = [run.folder, "--step", row["step"], *(["--raw"] if raw else []), *metrics]
        got = evaluate(*words)
        assert numbers(got["metrics"]) == numbers(row)
        assert got["step"] == row["step"] and got["samples"] == 27
        assert got["weights"] == ("raw" if raw else "averaged")
        assert set(got["metrics"]) >= {"loss", "accuracy"}
        assert ("top5" in got["metrics"]) == (not metrics)


def twin_of(file):
    twin = models.make("resblock", torch.float32, **TWIN)
    twin.load_state_dict(load_file(file), strict=True)
    return twin


@pytest.mark.parametrize("rows", [None, 1, 7, 19, 500])
def test_other_data_in_any_batches(run, rows):
    words = ["--data", f"file={run.folder.parent / 'other.safetensors'}"]
    words += ["--batch-size", rows] if rows else []
    got = evaluate(run.folder, *words)
    twin = twin_of(run.checkpoint() / "model_ema.safetensors")
    want = evaluate_plain(twin, load_file(run.folder.parent / "other.safetensors"), 8)
    assert got["samples"] == 19
    for name in ("loss", "accuracy", "top5"):
        assert got["metrics"][name] == pytest.approx(want[name], rel=1e-5), name


def test_the_best_checkpoint_is_that_of_the_evaluation(run):
    best = max(run.split("eval"), key=lambda row: (row["accuracy"], -row["step"]))
    got = evaluate(run.folder, "--best")
    assert got["step"] == best["step"] and numbers(got["metrics"]) == numbers(best)


def test_the_table_says_what_was_counted(run):
    text = run_braid("eval", run.folder, "--raw").stdout
    row = run.split("eval_raw")[-1]
    assert re.search(r"eval   \S+  step 12, raw weights \(not averaged\)\n", text)
    assert re.search(r"data   27 samples of \S+held\.safetensors\n", text)
    assert re.search(rf"loss +{row['loss']:.6g}\n", text)


def test_a_file_of_weights(run, tmp_path):
    folder = run.folder.parent
    weights = tmp_path / "w.safetensors"
    shutil.copy(run.checkpoint() / "model.safetensors", weights)
    want = numbers(run.split("eval_raw")[-1])
    got = evaluate(weights, "--job", folder / "job.yaml")
    assert numbers(got["metrics"]) == want and "step" not in got
    data = ["--data", "source=safetensors", f"file={folder / 'held.safetensors'}"]
    got = evaluate(weights, "batch_size=8", "threads=1", "--model",
                   MODEL.replace("side=6", "side=6,classes=7"), *data)  # fmt: skip
    assert numbers(got["metrics"]) == want
    file = tmp_path / "held.yaml"
    file.write_text(f"source: safetensors\nfile: {folder / 'held.safetensors'}\nclasses: 7\n")
    got = evaluate(weights, "--job", folder / "job.yaml", "--data", file, "limit=11")
    assert got["samples"] == 11
    file.write_text("data: {source: safetensors, file: held.safetensors}\n")
    shutil.copy(folder / "held.safetensors", tmp_path)
    got = evaluate(run.folder, "--raw", "--data", file)
    assert numbers(got["metrics"]) == want


def test_data_with_fewer_classes_than_the_model(run, tmp_path):
    """Sizes are those of training, whatever the new data show."""
    path = save(tmp_path / "few.safetensors", draw(6, 4, classes=3))
    got = evaluate(run.folder, "--data", "source=safetensors", f"file={path}")
    want = evaluate_plain(twin_of(run.checkpoint() / "model_ema.safetensors"), load_file(path), 8)
    assert got["metrics"]["loss"] == pytest.approx(want["loss"], rel=1e-5)
    path = save(tmp_path / "many.safetensors", draw(60, 4, classes=9))
    text = run_braid(
        "eval", run.folder, "--data", "source=safetensors", f"file={path}", code=2
    ).stderr
    assert "takes 7 classes, the field 'y' has 9" in text


def words_table(path, labels, rows=24):
    lines = [f"{i / 7:.3f},{i % 5},{labels[i % len(labels)]}" for i in range(rows)]
    path.write_text("a,b,kind\n" + "\n".join(lines) + "\n")
    return path


def test_labels_that_the_source_numbers_must_be_those_of_training(tmp_path):
    words_table(tmp_path / "train.csv", ["ant", "bee", "cat"])
    job = BASE | {"data": {"source": "csv", "file": "train.csv"}}
    run = train(tmp_path, job)
    same = words_table(tmp_path / "same.csv", ["cat", "bee", "ant"], 10)
    assert evaluate(run.folder, "--data", f"file={same}")["samples"] == 10
    # Fewer of them have the numbers that training gave them, as if they were named.
    fewer = words_table(tmp_path / "fewer.csv", ["bee", "cat"], 10)
    by_training = evaluate(run.folder, "--data", f"file={fewer}")
    by_name = evaluate(run.folder, "--data", f"file={fewer}", "names=[ant, bee, cat]")
    assert by_training["metrics"] == by_name["metrics"]
    other = words_table(tmp_path / "other.csv", ["ant", "asp", "bee"], 10)
    text = run_braid("eval", run.folder, "--data", "source=csv", f"file={other}", code=1).stderr
    assert "'asp'" in text and "other.csv, line" in text


def test_every_job_of_a_list(tmp_path):
    write_table(tmp_path / "table.csv")
    job = BASE | {"eval": {"data": {"source": "csv", "file": "table.csv"}}}
    job["members"] = [{"optimizer.lr": lr} for lr in (0.1, 0.3, 0.01)]
    path = tmp_path / "job.yaml"
    path.write_text(json.dumps(job))
    run_braid("train", path, "--out", tmp_path / "runs", "-q")
    rows = evaluate(tmp_path / "runs")
    assert [row["name"] for row in rows] == ["lr=0.1", "lr=0.3", "lr=0.01"]
    for row in rows:
        want = JobRun(tmp_path / "runs" / row["name"]).evaluation
        assert row["metrics"]["loss"] == pytest.approx(want["loss"], rel=1e-5)
        assert row["metrics"]["accuracy"] == want["accuracy"]
    table = run_braid("eval", tmp_path / "runs").stdout.splitlines()
    assert table[0].split()[:3] == ["name", "step", "loss"] and len(table) == 4
    shutil.rmtree(tmp_path / "runs" / "lr=0.3" / "checkpoints")
    done = run_braid("eval", tmp_path / "runs", "--json", code=1)
    assert "holds no complete checkpoint" in json.loads(done.stdout)[1]["error"]
    assert "lr=0.3: " in done.stderr


MISTAKES = {
    "no run": (["nowhere"], "holds no run, and is no file of weights"),
    "file alone": (["{run}/checkpoints/step-12/model.safetensors"], "--job JOB.yaml"),
    "job of a run": (["{run}", "--job", "x.yaml"], "knows its job"),
    "step": (["{run}", "--step", "5"], "no complete checkpoint of step 5"),
    "both": (["{run}", "--raw", "--ema"], "exclude each other"),
    "both steps": (["{run}", "--best", "--step", "4"], "exclude each other"),
    "metric": (["{run}", "--metrics", "acuracy"], "did you mean 'accuracy'"),
    "word": (["{run}", "optimizer"], "'optimizer' was not expected"),
    "data word": (["{run}", "--data", "other.safetensors"], "is no KEY=VALUE"),
    "data option": (["{run}", "--data", "fil=x"], "'file'"),
    "other fields": (["{run}", "--data", "source=glyphs"], "eval data x f32"),
    "no data": (["{run}/checkpoints/step-12/model.safetensors", "--model", "mlp"], "needs data"),
    "other model": (
        ["{run}/checkpoints/step-12/model.safetensors", "--model", "lenet", "--data",
         "source=glyphs"], "does not fit the model",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_are_told(run, name):
    words, expected = MISTAKES[name]
    words = [word.format(run=run.folder) for word in words]
    done = run_braid("eval", *words, code=2)
    assert expected in done.stderr and not done.stdout


def test_data_of_training_that_are_gone(run, tmp_path):
    copy = tmp_path / "run"
    shutil.copytree(run.folder, copy)
    config = copy / "config.yaml"
    config.write_text(config.read_text().replace("train.safetensors", "gone.safetensors"))
    text = run_braid("eval", copy, code=1).stderr
    assert "the data of training" in text and "--model 'resblock(" in text
