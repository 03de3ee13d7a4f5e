"""`data.split`: training and evaluation see the parts that Python draws, also after a
resume and in an array; what cannot be parted is said."""

import json

import models
import numpy as np
import pytest
import torch
from braid_run import run_braid
from data_order import batches, split
from job_case import SAMPLES, Case
from job_run import JobRun, far, save_init
from plain_training import evaluate_plain, train_plain
from train_jobs import check_message, write_table
from train_jobs import write_job as write_table_job


def parted(data, share, seed):
    """Tensors to train and to evaluate on."""
    return [{name: t[part] for name, t in data.items()} for part in split(SAMPLES, share, seed)]


@pytest.mark.parametrize("share, seed", [(0.25, 6), (7, 0)])
@pytest.mark.parametrize("source", ["npy", "safetensors"])
def test_both_parts_are_those_that_python_draws(tmp_path, source, share, seed):
    case = Case(tmp_path, "mlp", source=source, seed=5, eval={"metrics": ["loss", "accuracy"]})
    case.job["data"]["split"] = {"eval": share, "seed": seed}
    case.data, held = parted(case.data, share, seed)
    run = case.check()
    want = evaluate_plain(case.twin, held, 16)
    assert run.evaluation["loss"] == pytest.approx(want["loss"], rel=1e-9)
    assert run.evaluation["accuracy"] == pytest.approx(want["accuracy"])


def test_a_resumed_run_has_the_same_parts(tmp_path):
    case = Case(tmp_path, "mlp", checkpoint={"every": 4}, seed=9)
    case.job["data"]["split"] = 0.3
    (tmp_path / "job.yaml").write_text(json.dumps(case.job))
    run_braid("train", tmp_path / "job.yaml", "--out", tmp_path / "whole", "-q")
    run_braid("train", tmp_path / "job.yaml", "steps=5", "--out", tmp_path / "cut", "-q")
    config = tmp_path / "cut" / "config.yaml"
    config.write_text(config.read_text().replace("steps: 5\n", "steps: 9\n"))
    run_braid("resume", tmp_path / "cut", "-q")
    assert far(JobRun(tmp_path / "cut").state(), JobRun(tmp_path / "whole").state()) == 0
    assert JobRun(tmp_path / "cut").evaluation["loss"] == pytest.approx(
        JobRun(tmp_path / "whole").evaluation["loss"], abs=0
    )
    text = config.read_text()
    config.write_text(text.replace("eval: 0.3", "eval: 0.2"))
    assert config.read_text() != text
    done = run_braid("resume", tmp_path / "cut", code=2)
    check_message(done.stderr, ["data.split.eval is 0.2, was 0.3"])


def test_members_share_the_parts_and_are_as_if_alone(tmp_path):
    case = Case(tmp_path, "mlp", dtype="f32")
    case.job["data"] |= {"split": 0.3, "order_seed": 1}
    members = [{"optimizer.lr": 1e-3}, {"optimizer.lr": 4e-3}]
    job = tmp_path / "job.yaml"
    job.write_text(json.dumps(case.job | {"members": members}))
    done = run_braid("train", job, "--out", tmp_path / "list")
    assert "all on the same batches" in done.stdout
    for member in members:
        job.write_text(json.dumps(case.job))
        lr = member["optimizer.lr"]
        alone = tmp_path / f"alone-{lr}"
        run_braid("train", job, f"optimizer.lr={lr}", "--out", alone, "-q")
        twin = JobRun(tmp_path / "list" / ("lr=1e-3" if lr == 1e-3 else "lr=4e-3"))
        assert twin.evaluation["loss"] == pytest.approx(JobRun(alone).evaluation["loss"], rel=1e-5)


def test_folds_are_members_that_differ_in_the_seed(tmp_path):
    case = Case(tmp_path, "mlp", dtype="f32")
    case.job["data"]["split"] = 0.3
    job = tmp_path / "job.yaml"
    job.write_text(json.dumps(case.job | {"members": [{"data.split.seed": s} for s in range(3)]}))
    run_braid("train", job, "--out", tmp_path / "list", "-q")
    runs = [JobRun(tmp_path / "list" / f"seed={s}") for s in range(3)]
    assert len({run.evaluation["loss"] for run in runs}) == 3
    for seed, run in enumerate(runs):
        _, held = parted(case.data, 0.3, seed)
        twin = models.make("mlp", torch.float32, seed=2, features=6, hidden=8, classes=4)
        twin.load_state_dict(run.state())
        want = evaluate_plain(twin, held, 16)["loss"]
        assert run.evaluation["loss"] == pytest.approx(want, rel=1e-4)


@pytest.mark.parametrize("stride", [6, 2])
def test_windows_are_cut_and_not_drawn(tmp_path, stride):
    length, tokens = 6, np.random.default_rng(4).integers(11, size=301).astype(np.uint16)
    tokens.tofile(tmp_path / "t.bin")
    starts = range(0, len(tokens) - length, stride)
    wide = torch.from_numpy(tokens.astype(np.int64))
    cut = {
        "tokens": torch.stack([wide[s : s + length] for s in starts]),
        "targets": torch.stack([wide[s + 1 : s + 1 + length] for s in starts]),
    }
    held = round(0.2 * len(starts))
    first_held = starts[len(starts) - held]
    trained = sum(s + length <= first_held for s in starts)
    sizes = {"width": 8, "heads": 1, "layers": 1, "positions": 8, "dropout": 0}
    twin = models.make("transformer_lm", torch.float64, length=length, vocab=11, **sizes)
    data = {"source": "tokens", "file": "t.bin", "vocab": 11, "length": length, "stride": stride}
    job = {
        "model": "transformer_lm(width=8,heads=1,layers=1,positions=8,dropout=0)",
        "data": data | {"split": {"eval": 0.2, "seed": 3}},
        "optimizer": {"kind": "adamw", "lr": 3e-3, "weight_decay": 0.1}, "steps": 9,
        "batch_size": 8, "threads": 1, "dtype": "f64", "log_every": 1,
        "init": save_init(tmp_path / "init.safetensors", twin),
    }  # fmt: skip
    (tmp_path / "job.yaml").write_text(json.dumps(job))
    run_braid("train", tmp_path / "job.yaml", "--out", tmp_path / "run", "-q")
    run = JobRun(tmp_path / "run")
    seen = {name: t[:trained] for name, t in cut.items()}
    optimizer = torch.optim.AdamW(twin.parameters(), lr=3e-3, weight_decay=0.1)
    assert far(run.losses, train_plain(twin, batches(seen, job, 9), optimizer)) < 1e-9
    want = evaluate_plain(twin, {name: t[-held:] for name, t in cut.items()}, 8)
    assert run.evaluation["loss"] == pytest.approx(want["loss"], rel=1e-9)


def test_the_log_says_where_evaluation_data_come_from(tmp_path):
    data = {"source": "glyphs", "count": 40, "split": 0.25}
    job = write_table_job(tmp_path / "job.yaml", {"data": data, "model": "lenet", "epochs": 1})
    done = run_braid("train", job, "--out", tmp_path / "run")
    assert "30 samples of" in done.stdout
    assert "10 to evaluate (by data.split; the test part of the source is not used)" in done.stdout


@pytest.mark.parametrize(
    "override, words",
    {
        "data.split=0": ["data.split.eval is above 0"],
        "data.split=1": ["data.split.eval is 1", "share below 1"],
        "data.split=60": ["[data.split] 60 of 50 samples", "table.csv"],
        "data.split=50": ["[data.split] 50 of 50 samples", "0 to train"],
        "data.split=0.001": ["[data.split] 0.001 of 50 samples leave 0 to evaluate"],
        "data.splt=0.1": ["unknown option 'splt'", "did you mean 'split'?"],
    }.items(),
)
def test_what_cannot_be_parted_is_said(tmp_path, override, words):
    write_table(tmp_path / "table.csv")
    job = write_table_job(tmp_path / "job.yaml")
    check_message(
        run_braid("train", job, override, "--out", tmp_path / "run", code=2).stderr, words
    )
    assert not (tmp_path / "run").exists()
    eval_data = "eval.data={source: csv, file: table.csv}"
    done = run_braid("validate", job, "data.split=0.1", eval_data, code=2)
    check_message(done.stderr, ["data.split does not go with eval.data"])
