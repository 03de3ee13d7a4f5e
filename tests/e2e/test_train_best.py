"""One metric: what is called best, ranked first, kept and exported is the same step."""

import json
import os
import random
import re
import signal
import time

import models
import pytest
import torch
from braid_run import run_braid, save
from job_run import JobRun
from plain_training import evaluate_plain
from safetensors.torch import load_file
from train_jobs import start

STEPS, EVERY = 24, 2
KEEP_ONE = {"every": 1, "keep": 1}


@pytest.fixture(name="folder", scope="module")
def make_folder(tmp_path_factory):
    """Noisy classes: accuracy and loss are best at different steps."""
    folder = tmp_path_factory.mktemp("best")
    generator = torch.Generator().manual_seed(16)
    for name, rows in (("train", 45), ("held", 21)):
        x = torch.randn(rows, 6, generator=generator)
        y = (x[:, 0] > 0).long() + (x[:, 1] > 0.5).long()
        noise = torch.rand(rows, generator=generator) < 0.3
        y[noise] = torch.randint(0, 3, (int(noise.sum()),), generator=generator)
        save(folder / f"{name}.safetensors", {"x": x, "y": y})
    return folder


def job_of(folder, **changes):
    held = {"source": "safetensors", "file": str(folder / "held.safetensors"), "classes": 3}
    job = {
        "model": "mlp(hidden=12)",
        "data": {"source": "safetensors", "file": str(folder / "train.safetensors"), "classes": 3},
        "eval": {"data": held, "every": EVERY} | changes.pop("eval", {}),
        "optimizer": {"kind": "adam", "lr": 0.02},
        "steps": STEPS,
        "batch_size": 8,
        "threads": 1,
        "checkpoint": KEEP_ONE | changes.pop("checkpoint", {}),
    }
    return job | changes


def write(path, job):
    path.write_text(json.dumps(job))
    return path


def best_row(run, metric, higher):
    """The first of equal ones."""
    sign = -1 if higher else 1
    return min(run.split("eval"), key=lambda row: (sign * row[metric], row["step"]))


def kept(folder):
    return {int(p.name[5:]) for p in (folder / "checkpoints").iterdir()}


def exported_step(folder, tmp_path):
    done = run_braid("export", folder, "--best", "--to", tmp_path / "best.safetensors")
    return int(re.search(r"step (\d+), best (\w+)", done.stdout)[1])


def plain(file, folder):
    """Loss and accuracy of the evaluation data, by PyTorch."""
    twin = models.make("mlp", torch.float32, features=6, hidden=12, classes=3)
    twin.load_state_dict(load_file(file), strict=True)
    return evaluate_plain(twin, load_file(folder / "held.safetensors"), 8)


def check_values(file, folder, row):
    got = plain(file, folder)
    assert {k: row[k] for k in ("loss", "accuracy")} == pytest.approx(
        {k: got[k] for k in ("loss", "accuracy")}, rel=1e-5
    )


# Keys of a job -> the metric that it goes by, and whether more is better.
RULES = {
    "nothing": ({}, "accuracy", True),
    "metrics": ({"eval": {"metrics": ["loss", "accuracy"]}}, "loss", False),
    "early stopping": (
        {"eval": {"early_stop": {"metric": "loss", "patience": 50}}}, "loss", False,
    ),
    "best": (
        {"eval": {"early_stop": {"metric": "loss", "patience": 50}},
         "checkpoint": {"best": "accuracy"}}, "accuracy", True,
    ),
    "mode": (
        {"eval": {"early_stop": {"metric": "accuracy", "mode": "min"}}}, "accuracy", False,
    ),
}  # fmt: skip


@pytest.mark.parametrize("rule", RULES)
def test_one_metric_decides(tmp_path, folder, rule):
    changes, metric, higher = RULES[rule]
    path = write(tmp_path / "job.yaml", job_of(folder, **changes))
    text = run_braid("train", path, "--out", tmp_path / "run").stdout
    run = JobRun(tmp_path / "run")
    best = best_row(run, metric, higher)
    assert len({best_row(run, m, h)["step"] for _, m, h in RULES.values()}) == 3, "they differ"
    assert f"eval   best by {metric} ({'highest' if higher else 'lowest'})" in text
    assert f"best {metric} {best[metric]:.4g} at step {best['step']}  " in text.splitlines()[-1]
    assert exported_step(run.folder, tmp_path) == best["step"]
    assert best["step"] in kept(run.folder)
    check_values(tmp_path / "best.safetensors", folder, best)


def test_early_stopping_by_another_metric_names_and_keeps_both(tmp_path, folder):
    job = job_of(
        folder, steps=200,
        eval={"early_stop": {"metric": "loss", "patience": 12}}, checkpoint={"best": "accuracy"},
    )  # fmt: skip
    path = write(tmp_path / "job.yaml", job)
    text = run_braid("train", path, "--out", tmp_path / "run").stdout
    run = JobRun(tmp_path / "run")
    loss, accuracy = best_row(run, "loss", False), best_row(run, "accuracy", True)
    assert loss["step"] != accuracy["step"]
    last = run.evaluation["step"]
    assert last == loss["step"] + 12 * EVERY < 200
    assert "early stopping by loss (lowest)" in text
    words = f"stopped early: loss was best at step {loss['step']}, accuracy at step"
    assert text.count("stopped early") == 1 and f"{words} {accuracy['step']}\n" in text
    lines = text.splitlines()
    at = next(i for i, line in enumerate(lines) if line.startswith("stopped early"))
    assert lines[at - 1].startswith(f"eval  step {last} ")
    assert kept(run.folder) == {loss["step"], accuracy["step"], last}
    assert exported_step(run.folder, tmp_path) == accuracy["step"]


# Members that are best at steps of their own; the last ends worse than it was.
MEMBERS = {
    "calm": {"optimizer.lr": 0.01},
    "quick": {"optimizer.lr": 0.02},
    "wild": {"optimizer.lr": 0.1, "seed": 4},
}


def list_job(folder, **changes):
    members = [{"name": name} | values for name, values in MEMBERS.items()]
    return job_of(folder, **changes) | {"members": members}


def check_list(out, text, tmp_path):
    runs = {name: JobRun(out / name) for name in MEMBERS}
    best = {name: best_row(run, "accuracy", True) for name, run in runs.items()}
    order = sorted(best, key=lambda n: (-best[n]["accuracy"], runs[n].evaluation["loss"]))
    lines = text.splitlines()
    title = next(i for i, line in enumerate(lines) if "best accuracy  at step" in line)
    assert "last accuracy" in lines[title]
    for name, line in zip(order, lines[title + 1 :], strict=False):
        words = line.split()
        row = best[name]
        assert words[1] == name
        last = f"{runs[name].evaluation['accuracy']:.4g}"
        assert words[3:6] == [f"{row['accuracy']:.4g}", str(row["step"]), last]
    for name, run in runs.items():
        assert best[name]["step"] in kept(run.folder), name
        assert exported_step(run.folder, tmp_path) == best[name]["step"]
    first = best[order[0]]
    assert f"best {order[0]}: accuracy {first['accuracy']:.4g} at step {first['step']}" in lines[-1]
    return order, runs


def test_a_leaderboard_ranks_by_the_best(tmp_path, folder):
    path = write(tmp_path / "list.yaml", list_job(folder, steps=40, checkpoint={"every": 20}))
    text = run_braid("train", path, "--out", tmp_path / "list").stdout
    order, runs = check_list(tmp_path / "list", text, tmp_path)
    by_last = sorted(runs, key=lambda n: -runs[n].evaluation["accuracy"])
    assert order != by_last, "the last values would rank otherwise"


@pytest.mark.parametrize("kind", ["one", "list"])
def test_the_best_survives_kills(tmp_path, folder, kind):
    """Checkpoints after every step, of which one is kept: most are deleted at once."""
    job = (list_job if kind == "list" else job_of)(folder, steps=60)
    path, out = write(tmp_path / "job.yaml", job), tmp_path / "out"
    generator = random.Random(kind)
    for _ in range(12 if os.environ.get("BRAID_TEST_LONG") else 4):
        begun = (out / "config.yaml").exists() or (out / "jobs.json").exists()
        process = start(*(["resume", out] if begun else ["train", path, "--out", out]))
        time.sleep(generator.uniform(0.05, 0.4))
        process.kill()
        process.communicate()
        assert process.returncode in (0, -signal.SIGKILL)
    if not out.exists():
        run_braid("train", path, "--out", out)
    text = run_braid("resume", out).stdout
    if kind == "list":
        check_list(out, text, tmp_path)
    else:
        run = JobRun(out)
        best = best_row(run, "accuracy", True)
        assert exported_step(out, tmp_path) == best["step"] and best["step"] in kept(out)


def test_averaged_weights_are_named_everywhere(tmp_path, folder):
    path = write(tmp_path / "list.yaml", list_job(folder, steps=12, ema=0.9))
    text = run_braid("train", path, "--out", tmp_path / "list").stdout
    assert "metrics are of averaged weights (ema)" in text and "raw accuracy" in text
    log = (tmp_path / "list" / "calm" / "log.txt").read_text()
    assert "averaged weights (ema), raw ones beside them" in log
    run = JobRun(tmp_path / "list" / "wild")
    assert {row["weights"] for row in run.split("eval")} == {"averaged"}
    assert {row["weights"] for row in run.split("eval_raw")} == {"raw"}
    # Both as PyTorch finds them, at every step that was kept.
    for step in kept(run.folder):
        for words, split in ((), "eval"), (("--raw",), "eval_raw"):
            file = tmp_path / "state.safetensors"
            run_braid("export", run.folder, "--step", step, "--to", file, *words)
            row = [r for r in run.split(split) if r["step"] == step][0]
            check_values(file, folder, row)
