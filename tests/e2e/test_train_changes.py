"""Jobs and data that change between a stop and a resume."""

import json
import os
import shutil
import zlib

import pytest
from braid_run import run_braid
from job_run import JobRun
from train_jobs import check_message, write_job, write_table

# What a checkpoint of step 6 of 12 and its config are.
CHANGES = {"steps": 12, "epochs": None, "checkpoint": {"every": 3, "keep": 9}, "log_every": 2}


@pytest.fixture(name="folder")
def make_run(tmp_path):
    """`whole`, and `run` as if it had been stopped after step 6."""
    write_table(tmp_path / "table.csv")
    write_table(tmp_path / "held.csv")
    evaluation = {"data": {"source": "csv", "file": "held.csv"}, "every": 3}
    write_job(tmp_path / "job.yaml", CHANGES | {"eval": evaluation})
    run_braid("train", "job.yaml", "--out", "whole", "-q", cwd=tmp_path)
    shutil.copytree(tmp_path / "whole", tmp_path / "run")
    for path in (tmp_path / "run" / "checkpoints").iterdir():
        if int(path.name[5:]) > 6:
            shutil.rmtree(path)
    return tmp_path


def rewrite(checkpoint, meta):
    """Another meta.json with its sum."""
    text = json.dumps(meta)
    (checkpoint / "meta.json").write_text(text)
    marker = json.loads((checkpoint / "COMPLETE").read_text())
    for entry in marker:
        if entry["name"] == "meta.json":
            entry |= {"bytes": len(text), "crc32": f"{zlib.crc32(text.encode()):08x}"}
    (checkpoint / "COMPLETE").write_text(json.dumps(marker))


def edit(folder, *pairs):
    path = folder / "run" / "config.yaml"
    text = path.read_text()
    for old, new in pairs:
        assert old in text, old
        text = text.replace(old, new)
    path.write_text(text)


def without_folder(text, folder):
    return text.replace(str(folder), "")


def resume(folder, code=0):
    return run_braid("resume", "run", code=code, cwd=folder)


def test_an_unchanged_run_says_nothing_of_changes(folder):
    text = resume(folder).stdout
    assert "going on after step 6" in text
    assert "changed" not in without_folder(text, folder) and "begins anew" not in text
    got, want = JobRun(folder / "run"), JobRun(folder / "whole")
    assert got.losses == want.losses


def test_edited_values_are_refused_all_at_once(folder):
    edit(folder, ("seed: 0", "seed: 5"), ("lr: 0.1", "lr: 0.3"), ("batch_size: 8", "batch_size: 4"))
    done = resume(folder, code=2)
    check_message(done.stderr, ["seed is 5, was 0", "optimizer.lr is 0.3, was 0.1",
                                "batch_size is 4, was 8", "HINT"])  # fmt: skip
    # Put back, it goes on; a number may be written in another way.
    edit(
        folder, ("seed: 5", "seed: 0"), ("lr: 0.3", "lr: 1e-1"), ("batch_size: 4", "batch_size: 8")
    )
    assert "going on after step 6" in resume(folder).stdout


@pytest.mark.parametrize(
    "pair",
    [("model: mlp(hidden=8)", "model: mlp(hidden=9)"), ("shuffle: true", "shuffle: false"),
     ("on_nan: stop", "on_nan: skip"), ("metrics: []", "metrics: [top5]"),
     ("mode: auto", "mode: max")],
)  # fmt: skip
def test_what_decides_the_numbers_must_not_change(folder, pair):
    edit(folder, pair)
    (key, new), old = pair[1].split(": "), pair[0].split(": ")[1]
    text = resume(folder, code=2).stderr
    assert f"{key} is {new}, was {old.replace('[]', 'absent')}" in text


def test_what_may_change_is_applied_and_said(folder):
    edit(folder, ("steps: 12", "steps: 15"), ("log_every: 2", "log_every: 5"),
         ("keep: 9", "keep: 1"), ("threads: 1", "threads: 2"))  # fmt: skip
    text = resume(folder).stdout
    for words in ("steps is 15, was 12", "log_every is 5, was 2", "checkpoint.keep is 1, was 9",
                  "threads is 2, was 1"):  # fmt: skip
        assert words in text
    run = JobRun(folder / "run")
    assert [row["step"] for row in run.split("train")] == [2, 4, 6, 10, 15]
    assert "steps is 15, was 12" in run_log(folder)
    # It is said once.
    assert "changed since" not in resume(folder).stdout


def run_log(folder):
    return (folder / "run" / "log.txt").read_text()


def test_a_checkpoint_that_does_not_know_its_job_goes_on(folder):
    """As earlier versions wrote them."""
    checkpoint = folder / "run" / "checkpoints" / "step-6"
    meta = json.loads((checkpoint / "meta.json").read_text())
    for key in ("config", "train_data", "eval_data", "skips", "raw_evaluation"):
        del meta[key]
    del meta["best"]["metric"], meta["early_stop"]["metric"]
    rewrite(checkpoint, meta)
    assert "going on after step 6" in resume(folder).stdout


# Data.


def change_row(path):
    rows = path.read_text().splitlines()
    rows[20] = "0.999," + rows[20].split(",", 1)[1]
    path.write_text("\n".join(rows) + "\n")


@pytest.mark.parametrize("name, what", [("table.csv", "training"), ("held.csv", "evaluation")])
def test_other_data_are_noticed(folder, name, what):
    change_row(folder / name)
    text = resume(folder).stdout
    words = f"the {what} data of {folder / name} changed: not all samples are the same"
    assert text.count(words) == text.count(" changed: ") == 1 and words in run_log(folder)
    assert " changed: " not in resume(folder).stdout


def test_other_data_are_refused_where_told(folder):
    edit(folder, ("on_change: warn", "on_change: refuse"))
    whole = (folder / "table.csv").read_bytes()
    change_row(folder / "table.csv")
    check_message(resume(folder, code=1).stderr, ["[resume]", "training data", "50 of 50", "HINT"])
    (folder / "table.csv").write_bytes(whole)
    os.utime(folder / "table.csv", (1, 1))  # a copy has another time
    text = resume(folder).stdout
    assert "going on after step 6" in text and " changed: " not in text


def test_data_that_moved_are_known_again(folder):
    (folder / "table.csv").rename(folder / "moved.csv")
    edit(folder, ("table.csv", "moved.csv"))
    text = resume(folder).stdout
    assert "data.file is " in text and " changed: " not in text


def test_of_many_samples_the_time_of_the_file_tells(tmp_path):
    """A sample that is not looked at."""
    rows = [f"{i % 7 / 7:.3f},{i % 5 / 5:.3f},{i % 3}" for i in range(5000)]
    table = tmp_path / "many.csv"
    table.write_text("\n".join(rows) + "\n")
    write_job(tmp_path / "job.yaml", CHANGES | {"data": {"source": "csv", "file": "many.csv"}})
    run_braid("train", "job.yaml", "steps=6", "--out", "run", "-q", cwd=tmp_path)
    rows[3] = "9" + rows[3]
    table.write_text("\n".join(rows) + "\n")
    edit(tmp_path, ("steps: 6", "steps: 9"))
    text = resume(tmp_path).stdout
    assert "may have changed: " in text and "another size" in text


# Lists.


@pytest.fixture(name="listed")
def make_list(tmp_path):
    write_table(tmp_path / "table.csv")
    members = [{"name": "a"}, {"name": "b", "optimizer.lr": 0.2}]
    write_job(tmp_path / "list.yaml", CHANGES | {"members": members})
    run_braid("train", "list.yaml", "--out", "run", "-q", cwd=tmp_path)
    return tmp_path


def edit_member(folder, name, old, new):
    path = folder / "run" / name / "config.yaml"
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))


def test_a_member_that_was_edited_is_refused(listed):
    edit_member(listed, "b", "lr: 0.2", "lr: 0.7")
    for target in ("run", "run/b"):
        text = run_braid("resume", target, code=2, cwd=listed).stderr
        assert "optimizer.lr is 0.7" in text and "0.2" in text and "HINT" in text
    text = (listed / "run" / "jobs.json").read_text()
    edit_member(listed, "b", "lr: 0.7", "lr: 0.2")
    (listed / "run" / "jobs.json").write_text(text.replace("seed: 0", "seed: 3"))
    assert "seed is 0" in run_braid("resume", "run", code=2, cwd=listed).stderr


def test_a_member_may_train_longer_than_the_others(listed):
    edit_member(listed, "b", "steps: 12", "steps: 15")
    text = run_braid("resume", "run", cwd=listed).stdout
    assert "b: its config.yaml counts: steps is 15 there, 12 in jobs.json" in text
    assert "steps is 15, was 12" in text
    assert JobRun(listed / "run" / "b").split("train")[-1]["step"] == 15
    assert JobRun(listed / "run" / "a").split("train")[-1]["step"] == 12
