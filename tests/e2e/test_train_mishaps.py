"""What goes wrong in the middle of a run, and what is left afterwards."""

import json
import os
import subprocess
import time

import numpy as np
import pytest
from braid_run import braid_bin, run_braid, save
from job_run import JobRun
from train_jobs import check_message, start, write_job, write_table

TRAIN = ["train", "job.yaml", "--out", "out"]
EVERY_STEP = {"checkpoint": {"every": 1, "keep": 2}, "epochs": None, "steps": 30}


@pytest.fixture(name="folder")
def make_folder(tmp_path):
    write_table(tmp_path / "table.csv")
    write_job(tmp_path / "job.yaml", EVERY_STEP)
    return tmp_path


def write_broken(folder, rows=50, first=0):
    """Numbers that are none from that row on."""
    x = np.random.default_rng(0).random((rows, 4), dtype=np.float32)
    x[first:] = np.nan
    np.save(folder / "x.npy", x)
    np.save(folder / "y.npy", np.arange(rows) % 3)
    files = ["x=x.npy", "y=y.npy"]
    data = {"source": "npy", "files": files, "classes": 3, "shuffle": False, "allow_nan": True}
    return {"data": data}


# on_nan: skip.


@pytest.mark.parametrize("steps", [3, 30])
def test_a_run_that_skips_every_step_fails(folder, steps):
    write_job(folder / "job.yaml", EVERY_STEP | write_broken(folder) | {"on_nan": "skip"})
    done = run_braid(*TRAIN, f"steps={steps}", code=1, cwd=folder)
    check_message(done.stderr, ["steps were skipped", "nothing was saved yet", "HINT"])
    assert "done" not in done.stdout
    assert not list((folder / "out").glob("checkpoints/step-*")), "no checkpoint of NaN"


def test_a_run_that_gets_stuck_keeps_the_last_good_checkpoint(folder):
    """Of 400 rows the last 250 are broken: steps 19 and on."""
    broken = write_broken(folder, rows=400, first=150)
    write_job(folder / "job.yaml", EVERY_STEP | broken | {"on_nan": "skip", "log_every": 5})
    done = run_braid(*TRAIN, "steps=40", code=1, cwd=folder)
    assert "all of the last 10 steps were skipped; step 18 is saved" in done.stderr
    assert done.stdout.count("were skipped: ") == 2  # one line of the log each
    assert "step 20: steps whose loss is not finite were skipped: 2 of the last 5" in done.stdout
    assert "step 25: steps whose loss is not finite were skipped: 5 of the last 5" in done.stdout
    steps = sorted(int(p.name[5:]) for p in (folder / "out" / "checkpoints").iterdir())
    assert steps == [17, 18]


def test_steps_with_a_loss_that_is_no_number_fail(tmp_path):
    """`braid step` says so and writes what there is; with skip_nonfinite it may go on."""
    import torch

    x = torch.full((4, 16), float("nan"))
    inputs = save(tmp_path / "x.safetensors", {"x": x, "y": torch.arange(4)})
    args = ["step", "mlp", "--steps", "2", "--optimizer", "sgd", "--inputs", inputs]
    for more in ([], ["--set", "skip_nonfinite=true"]):
        out = tmp_path / f"out{len(more)}"
        done = run_braid(*args, "--out", out, *more, code=1)
        check_message(done.stderr, ["[braid step] the loss is", "nan", "at step 1", "HINT"])
        assert json.loads((out / "losses.json").read_text()) == [None, None]


# A folder that nothing was saved in is free for the next try.


def fail_first(folder):
    write_job(folder / "job.yaml", write_broken(folder))
    text = run_braid(*TRAIN, code=1, cwd=folder).stderr
    assert "the loss is nan at step 1; nothing was saved yet" in text


def test_a_run_that_failed_at_once_is_not_in_the_way(folder):
    fail_first(folder)
    write_job(folder / "job.yaml")
    text = run_braid(*TRAIN, cwd=folder).stdout
    assert "no checkpoint was saved: the run begins anew" in text
    run = JobRun(folder / "out")
    assert run.rows[-1]["step"] == 14
    log = (folder / "out" / "log.txt").read_text()
    assert "the loss is nan" in log, "what the first try said is still there"
    # Now there is something to lose.
    assert "holds a run" in run_braid(*TRAIN, code=2, cwd=folder).stderr


def test_files_of_others_stay(folder):
    fail_first(folder)
    (folder / "out" / "notes.txt").write_text("mine")
    write_job(folder / "job.yaml")
    run_braid(*TRAIN, "-q", cwd=folder)
    assert (folder / "out" / "notes.txt").read_text() == "mine"


def test_jobs_that_failed_at_once_are_not_in_the_way(folder):
    members = {"members": [{"name": "a"}, {"name": "b", "seed": 2}]}
    write_job(folder / "job.yaml", write_broken(folder) | members)
    run_braid(*TRAIN, code=1, cwd=folder)
    members["members"][1]["name"] = "c"
    write_job(folder / "job.yaml", members)
    text = run_braid(*TRAIN, cwd=folder).stdout
    assert "they begin anew" in text
    assert sorted(p.name for p in (folder / "out").iterdir()) == [
        "a", "array-0", "c", "jobs.json", "results.csv", "results.json"]  # fmt: skip
    assert "holds jobs" in run_braid(*TRAIN, code=2, cwd=folder).stderr


def test_a_resume_without_a_checkpoint_says_that_it_begins_anew(folder):
    fail_first(folder)
    write_table(folder / "table.csv")
    text = run_braid("resume", "out", code=1, cwd=folder)
    assert "no checkpoint was saved: the run begins anew" in text.stdout


# Checkpoints that cannot be read.


@pytest.mark.parametrize("kind", ["loop", "file", "folder"])
def test_an_entry_that_is_no_checkpoint_is_passed_over(folder, kind):
    run_braid(*TRAIN, "steps=4", "-q", cwd=folder)
    newest = folder / "out" / "checkpoints" / "step-9"
    if kind == "loop":
        newest.symlink_to(newest.name)
    elif kind == "file":
        newest.write_text("not a folder")
    else:
        (newest / "COMPLETE").mkdir(parents=True)
    done = run_braid("export", "out", cwd=folder)
    assert "step-9' is damaged and not used" in done.stderr and "done   step 4" in done.stdout
    config = folder / "out" / "config.yaml"
    config.write_text(config.read_text().replace("steps: 4", "steps: 12"))
    text = run_braid("resume", "out", cwd=folder).stdout
    assert "step-9' is damaged and not used" in text and "going on after step 4" in text
    assert "done   step 12" in run_braid("export", "out", "--to", "w", cwd=folder).stdout


def test_exports_beside_a_training_never_meet_a_damaged_checkpoint(folder):
    """A checkpoint after every step, of which one is kept."""
    evaluation = {"data": {"source": "csv", "file": "table.csv"}, "every": 1}
    changes = {"steps": 100000, "checkpoint": {"every": 1, "keep": 1}, "eval": evaluation}
    write_job(folder / "job.yaml", EVERY_STEP | changes)
    process = start(*TRAIN, "-q", cwd=folder)
    while not list(folder.glob("out/checkpoints/step-*")):
        assert process.poll() is None
        time.sleep(0.01)
    count = 150 if os.environ.get("BRAID_TEST_LONG") else 12
    for i in range(count):
        words = ["--best"] if i % 2 else []
        done = subprocess.run(
            [braid_bin(), "export", "out", "--to", "w.safetensors", *words],
            cwd=folder, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert (done.returncode, done.stderr) == (0, ""), done.stdout
    process.kill()
    process.communicate()


# What is said.


def test_the_screen_and_the_metrics_show_the_same_loss(folder):
    """The last line is written at the last step, as the last row is."""
    for log_every in (1, 4, 7):
        words = [f"log_every={log_every}", "steps=30", "checkpoint.every=0"]
        text = run_braid("train", "job.yaml", "--out", f"out{log_every}", *words, cwd=folder).stdout
        line = [line for line in text.splitlines() if line.startswith("step  30/30")][0]
        assert f"loss {JobRun(folder / f'out{log_every}').losses[-1]:.4g} " in line
    means = JobRun(folder / "out7").losses
    each = JobRun(folder / "out1").losses
    assert means[-1] == pytest.approx(sum(each[28:]) / 2)


WARNINGS = {
    "a large batch": ({"batch_size": 64}, "batch_size is 64, and there are 50 samples"),
    "nothing to evaluate": ({"eval": {"every": 5}}, "nothing is evaluated"),
    "a large batch to evaluate": (
        {"eval": {"data": {"source": "csv", "file": "table.csv"}, "batch_size": 51}},
        "eval.batch_size is 51, and there are 50 samples",
    ),
}


@pytest.mark.parametrize("case", WARNINGS)
def test_what_a_job_would_rather_have_otherwise_is_said(folder, case):
    changes, words = WARNINGS[case]
    write_job(folder / "job.yaml", changes)
    assert words in run_braid("validate", "job.yaml", cwd=folder).stderr
    assert words in run_braid(*TRAIN, cwd=folder).stdout
    assert words in (folder / "out" / "log.txt").read_text()
    write_job(folder / "job.yaml")
    assert run_braid("validate", "job.yaml", cwd=folder).stderr == ""
