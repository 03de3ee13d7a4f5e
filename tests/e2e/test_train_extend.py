"""Runs that go on longer than they were meant to, or with other values."""

import json

import pytest
from braid_run import run_braid
from job_run import JobRun, bits
from list_jobs import runs_of, train_list
from train_jobs import check_message, snapshot, write_job, write_table

# 50 rows in batches of 8: 7 steps of an epoch, the last one of 2 rows.
CHANGES = {"epochs": 2, "log_every": 1, "checkpoint": {"every": 7, "keep": 99}}


@pytest.fixture(name="folder")
def make_folder(tmp_path):
    write_table(tmp_path / "table.csv")
    write_job(tmp_path / "job.yaml", CHANGES)
    return tmp_path


def train(folder, out, *words):
    run_braid("train", "job.yaml", "--out", out, "-q", *words, cwd=folder)
    return JobRun(folder / out)


def test_more_epochs_end_as_if_there_had_always_been_so_many(folder):
    want = train(folder, "whole", "epochs=5")
    train(folder, "run")
    text = run_braid("resume", "run", "epochs=5", cwd=folder).stdout
    assert "changed since the last run: epochs is 5, was 2" in text
    assert bits(JobRun(folder / "run")) == bits(want)
    # It is the run's from now on.
    assert "done   all 35 steps" in run_braid("resume", "run", cwd=folder).stdout
    assert "epochs: 5" in (folder / "run" / "config.yaml").read_text()


def test_steps_count_over_epochs_and_say_so(folder):
    train(folder, "run", "steps=9")
    done = run_braid("resume", "run", "epochs=5", cwd=folder, code=2)
    check_message(done.stderr, ["steps: 9", "steps= epochs=5"])
    run_braid("resume", "run", "steps=", "epochs=3", "-q", cwd=folder)
    want = train(folder, "whole", "epochs=3")
    assert bits(JobRun(folder / "run"))[0] == bits(want)[0]


def test_other_jobs_are_refused_with_every_key(folder):
    train(folder, "run")
    before = snapshot(folder / "run")
    done = run_braid("resume", "run", "optimizer.lr=0.3", "seed=4", "epochs=9", cwd=folder, code=2)
    check_message(done.stderr, ["optimizer.lr is 0.3, was 0.1", "seed is 4, was 0", "init.run"])
    assert "epochs" not in done.stderr.split("HINT")[0]
    done = run_braid("resume", "run", "steps=3", cwd=folder, code=2)
    check_message(done.stderr, ["has done 14 steps, more than the 3"])
    done = run_braid("resume", "run", "epoch=3", cwd=folder, code=2)
    check_message(done.stderr, ["epochs"])
    assert snapshot(folder / "run") == before


ADAM = {"optimizer": {"kind": "adamw", "lr": 0.01}, "epochs": 1, "log_every": 1}


def test_a_run_begins_with_the_weights_of_another(folder):
    first = train(folder, "first")
    second = train(folder, "second", "init.run=first", "optimizer.lr=0.02", "data.shuffle=false")
    (folder / "by-file.safetensors").write_bytes(
        (first.checkpoint() / "model.safetensors").read_bytes())
    same = train(folder, "same", "init.file=by-file.safetensors", "optimizer.lr=0.02",
                 "data.shuffle=false")  # fmt: skip
    assert bits(second)[0] == bits(same)[0]
    pinned = train(folder, "pinned", "init.run=first", "init.step=7", "steps=1")
    assert pinned.losses != second.losses[:1]
    done = run_braid("train", "job.yaml", "--out", "x", "init.run=first", "init.step=8",
                     cwd=folder, code=1)  # fmt: skip
    check_message(done.stderr, ["no whole checkpoint of step 8", "newest is of step 14"])
    done = run_braid("train", "job.yaml", "--out", "x", "init.run=nowhere", cwd=folder, code=1)
    check_message(done.stderr, ["nowhere", "HINT"])
    done = run_braid("train", "job.yaml", "--out", "x", "init.best=true", cwd=folder, code=2)
    check_message(done.stderr, ["init.run"])
    done = run_braid("train", "job.yaml", "--out", "x", "init.run=first", "init.best=true",
                     cwd=folder, code=1)  # fmt: skip
    check_message(done.stderr, ["never evaluated"])
    assert not (folder / "x").exists()


def test_with_what_the_optimizer_remembered_it_goes_on_as_one_run(folder):
    """Without shuffling, two runs of an epoch each are one of two."""
    write_job(folder / "job.yaml", ADAM)
    whole = train(folder, "whole", "epochs=2", "data.shuffle=false")
    train(folder, "first", "data.shuffle=false")
    second = train(folder, "second", "data.shuffle=false", "init.run=first", "init.optimizer=true")
    assert second.losses == whole.losses[7:]
    assert second.state().keys() == whole.state().keys()
    for name, tensor in whole.state().items():
        assert second.state()[name].equal(tensor)
    cold = train(folder, "cold", "data.shuffle=false", "init.run=first")
    assert cold.losses[1:] != whole.losses[8:]
    done = run_braid("train", "job.yaml", "--out", "x", "init.run=first", "init.optimizer=true",
                     "optimizer={kind: rmsprop}", cwd=folder, code=1)  # fmt: skip
    check_message(done.stderr, ["no state of this optimizer", "HINT"])
    # Members of an array take theirs.
    run_braid("train", "job.yaml", "--out", "list", "data.shuffle=false", "init.run=first",
              "init.optimizer=true", "members=[{optimizer.lr: 0.01}, {optimizer.lr: 0.02}]", "-q",
              cwd=folder)  # fmt: skip
    got = JobRun(folder / "list" / "lr=0.01").losses
    assert max(abs(a - b) for a, b in zip(got, second.losses, strict=True)) < 1e-5


def test_jobs_of_a_list_go_on_together(tmp_path):
    members = {"a": {"seed": 1}, "b": {"seed": 2, "optimizer.lr": 0.01}}
    (tmp_path / "long").mkdir()
    want = train_list(tmp_path / "long", members, steps=15)
    train_list(tmp_path, members)
    before = snapshot(tmp_path / "list")
    done = run_braid("resume", tmp_path / "list", "seed=3", code=2)
    check_message(done.stderr, ["seed is 3, was 1"])
    assert snapshot(tmp_path / "list") == before
    run_braid("resume", tmp_path / "list", "steps=15", "-q")
    for name, run in runs_of(tmp_path / "list", members).items():
        assert bits(run)[0] == bits(want[name])[0]
    jobs = json.loads((tmp_path / "list" / "jobs.json").read_text())
    assert json.dumps(jobs).count('steps: 15') == 2


def test_a_plan_in_a_job_changes_no_bit(folder):
    want = train(folder, "whole")
    plan = "plan.segments={default: 'recompute,spilled,host', layers.1: offload}"
    got = train(folder, "planned", plan, "plan.depth=0")
    assert bits(got)[0] == bits(want)[0]
    (folder / "plan.yaml").write_text("segments: {default: recompute}\n")
    got = train(folder, "by-file", "plan=plan.yaml")
    assert bits(got)[0] == bits(want)[0]
    text = run_braid("validate", "job.yaml", "plan=plan.yaml", cwd=folder).stdout
    assert "recompute" in text
    done = run_braid("validate", "job.yaml", "plan.segments={layer.1: keep}", cwd=folder, code=2)
    check_message(done.stderr, ["layer.1", "layers.1"])
    done = run_braid("train", "job.yaml", "plan.segments={default: kep}", "--out", "x",
                     cwd=folder, code=2)  # fmt: skip
    check_message(done.stderr, ["plan.segments.default", "keep"])
    # Memory is spent otherwise after a stop.
    train(folder, "run")
    run_braid("resume", "run", "epochs=3", "plan=plan.yaml", "-q", cwd=folder)
    want = train(folder, "longer", "epochs=3")
    assert bits(JobRun(folder / "run"))[0] == bits(want)[0]


def test_a_grid_trains_every_combination(folder):
    run_braid("train", "job.yaml", "grid.optimizer.lr=[0.1, 0.3]", "grid.seed=[1, 2]", "--out",
              "grid", "-q", cwd=folder)  # fmt: skip
    alone = train(folder, "alone", "optimizer.lr=0.3", "seed=2")
    got = JobRun(folder / "grid" / "lr=0.3,seed=2")
    for name, tensor in alone.state().items():
        assert got.state()[name].sub(tensor).abs().max() < 1e-5
