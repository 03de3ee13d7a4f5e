"""Parameters and optimizer state in a file: the same bits as without, nothing left
behind, and a clear end when the disk does not do what it should."""

import json
import os
import signal
import time
from pathlib import Path

import models
import pytest
from braid_run import run_braid, run_step, save, step_args
from job_run import JobRun
from train_jobs import check_message, small_disk, start

IN_FILE = {"depth": 1, "segments": {"default": "recompute,file,host_file"}}
GLYPHS = {"source": "glyphs", "count": 44, "classes": 4, "size": 16}
JOB = {
    "model": "vit(patch=8,width=8,heads=2,layers=2,dropout=0.2)",
    "data": GLYPHS,
    "eval": {"data": {"source": "glyphs", "count": 20, "classes": 4, "size": 16, "part": "test"}},
    "optimizer": {"kind": "adamw", "lr": 0.003},
    "schedule": "cosine(warmup=2)",
    "clip": 1.0,
    "ema": 0.9,
    "batch_size": 8,
    "threads": 1,
    "epochs": 3,
    "checkpoint": {"every": 1},
}
MEMBERS = {"members": [{"name": "a"}, {"name": "b", "seed": 2}, {"name": "c", "epochs": 2}]}


@pytest.fixture
def disk(tmp_path):
    folder = tmp_path / "spill"
    folder.mkdir()
    return folder


def write(folder, *changes, name="job.yaml"):
    job = JOB.copy()
    for change in changes:
        job |= change
    (folder / name).write_text(json.dumps({k: v for k, v in job.items() if v is not None}))
    return folder / name


def results(run):
    """All that a run keeps but times, and what says where it trained."""
    rows = [{k: v for k, v in row.items() if k != "time_s"} for row in JobRun(run).rows]
    files = {
        str(p.relative_to(run)): p.read_bytes()
        for p in run.rglob("*.safetensors")
    }  # fmt: skip
    return rows, files


def spill_file(process, folder):
    """The file that a process has open there, which has no name."""
    for fd in Path(f"/proc/{process.pid}/fd").iterdir():
        try:
            if os.readlink(fd).startswith(str(folder)):
                return fd
        except FileNotFoundError:
            continue
    return None


def wait_for(process, condition):
    for _ in range(6000):
        found = condition()
        if found:
            return found
        assert process.poll() is None, process.communicate()
        time.sleep(0.01)
    raise AssertionError("it never happened")


def checkpoints(run):
    return sorted(int(p.name[5:]) for p in run.glob("checkpoints/step-*"))


@pytest.mark.parametrize("dtype", ["f32", "f64"])
def test_a_step_from_a_file_changes_no_bit(tmp_path, disk, dtype):
    batch = models.batch("transformer", size=16, length=16, vocab=20)
    inputs = save(tmp_path / "x.safetensors", batch)
    args = ("transformer(width=32,vocab=20,dropout=0.1)", inputs, 3, "adamw", {"clip_norm": 1.0})
    plan = tmp_path / "plan.yaml"
    options = {"dtype": dtype, "accumulate": 2}
    expected = run_step(*args, tmp_path / "free", **options)
    for depth in (0, 3):
        plan.write_text(json.dumps(IN_FILE | {"depth": depth}))
        out = tmp_path / f"depth-{depth}"
        got = run_step(*args, out, plan=plan, spill_dir=disk, **options)
        assert got.raw() == expected.raw()
        assert got.memory["measured_peak_bytes"] < expected.memory["measured_peak_bytes"]
    assert not list(disk.iterdir())


@pytest.mark.parametrize("words", [[], ["accumulate=2", "precision=bf16"]])
def test_a_training_from_a_file_changes_no_bit(tmp_path, disk, words):
    run_braid("train", write(tmp_path), "--out", tmp_path / "free", "-q", *words)
    write(tmp_path, {"plan": IN_FILE}, name="file.yaml")
    command = ["train", tmp_path / "file.yaml", "--spill-dir", disk, *words]
    run_braid(*command, "--out", tmp_path / "file", "-q")
    assert results(tmp_path / "file") == results(tmp_path / "free")
    assert not list(disk.iterdir())
    config = (tmp_path / "file" / "config.yaml").read_text()
    assert f"spill_dir: {disk}" in config, "a resume needs no option"


def test_members_of_a_list_come_from_one_file(tmp_path, disk):
    run_braid("train", write(tmp_path, MEMBERS), "--out", tmp_path / "free", "-q")
    write(tmp_path, MEMBERS, {"plan": IN_FILE, "spill_dir": "spill"}, name="file.yaml")
    process = start("train", tmp_path / "file.yaml", "--out", tmp_path / "file", "-q")
    wait_for(process, lambda: checkpoints(tmp_path / "file" / "array-0"))
    process.kill()
    process.communicate()
    run_braid("resume", tmp_path / "file", "-q")
    for name in "abc":
        free, spilled = results(tmp_path / "free" / name), results(tmp_path / "file" / name)
        assert spilled == free, name
    assert not list(disk.iterdir())


def test_killed_at_any_moment_it_goes_on_from_the_same_weights(tmp_path, disk):
    run_braid("train", write(tmp_path), "--out", tmp_path / "free", "-q")
    write(tmp_path, {"plan": IN_FILE, "spill_dir": "spill"}, name="file.yaml")
    out = tmp_path / "file"
    command = ["train", tmp_path / "file.yaml", "--out", out]
    for first in (0, 2, 5):
        process = start(*command, "-q")
        wait_for(process, lambda first=first: first < max(checkpoints(out), default=0))
        process.kill()
        assert process.wait() in (-signal.SIGKILL, 0)
        process.communicate()
        assert not list(disk.iterdir()), "the file has no name"
        command = ["resume", out]
    # Another folder, or another plan, is as good.
    other = tmp_path / "other"
    other.mkdir()
    run_braid(*command, "--spill-dir", other, "-q")
    assert f"spill_dir: {other}" in (out / "config.yaml").read_text()
    assert results(out)[1] == results(tmp_path / "free")[1]
    stats = [
        run_braid("inspect", tmp_path / name, "--stats", "*").stdout.split("\n", 1)
        for name in ("file", "free")
    ]
    assert stats[0][1] == stats[1][1], "all but the line that names the folder"
    for name in ("file", "free"):
        run_braid("export", tmp_path / name, "--to", tmp_path / f"{name}.safetensors")
    exported = [(tmp_path / f"{n}.safetensors").read_bytes() for n in ("file", "free")]
    assert exported[0] == exported[1]


def corrupt(file):
    with open(file, "r+b", buffering=0) as other:
        for at in range(0, os.fstat(other.fileno()).st_size, 64):
            other.seek(at)
            other.write(b"\xee" * 8)


def truncate(file):
    os.truncate(file, 64)


@pytest.mark.parametrize("harm", [corrupt, truncate])
def test_a_file_that_was_harmed_ends_the_run_and_nothing_more(tmp_path, disk, harm):
    endless = {"epochs": 1000, "schedule": "constant"}
    write(tmp_path, endless, {"plan": IN_FILE, "spill_dir": "spill"})
    out = tmp_path / "run"
    process = start("train", tmp_path / "job.yaml", "--out", out, "-q")
    wait_for(process, lambda: max(checkpoints(out), default=0) >= 2)
    harm(spill_file(process, disk))
    text = process.communicate(timeout=60)[0]
    assert process.returncode == 1, text
    check_message(text, ["[spill] the file in", "at slot '", "HINT", "braid resume"])
    assert not list(disk.iterdir())
    # What was saved is what a run without a plan has there, and goes on as that does.
    run_braid("resume", out, f"steps={checkpoints(out)[-1] + 2}", "-q")
    step = checkpoints(out)[-1]
    free = write(tmp_path, endless, {"steps": step}, name="free.yaml")
    run_braid("train", free, "--out", tmp_path / "free", "-q")
    name = f"checkpoints/step-{step}/model.safetensors"
    assert (out / name).read_bytes() == (tmp_path / "free" / name).read_bytes()


def test_a_disk_that_is_too_small_is_found_before_the_first_step(tmp_path):
    write(tmp_path, {"plan": IN_FILE})
    with small_disk(tmp_path, "4k") as (disk, resize):
        command = ["train", tmp_path / "job.yaml", "--out", tmp_path / "run", "--spill-dir", disk]
        text = run_braid(*command, code=1).stderr
        check_message(text, ["[spill] the plan keeps", "bytes", "No space left", "free", "HINT"])
        assert not list(disk.iterdir())
        resize("16m")
        run_braid(*command, "-q")
        # All that the run needs is there: a full disk does not stop it.
        out = tmp_path / "more"
        process = start(*command[:2], "--out", out, "--spill-dir", disk, "-q", "epochs=100")
        wait_for(process, lambda: checkpoints(out))
        with open(disk / "rest", "wb") as rest, pytest.raises(OSError):
            while True:
                rest.write(bytes(1 << 16))
                rest.flush()
        step = checkpoints(out)[-1]
        wait_for(process, lambda: checkpoints(out)[-1] > step + 2)
        process.terminate()
        assert process.wait() == 130, process.communicate()


def test_a_plan_with_a_file_needs_a_folder(tmp_path, disk):
    write(tmp_path, {"plan": IN_FILE})
    command = ["train", tmp_path / "job.yaml", "--out", tmp_path / "run"]
    text = run_braid(*command, code=2).stderr
    check_message(text, ["[spill] the plan keeps", "no folder", "HINT: --spill-dir"])
    assert not (tmp_path / "run").exists()
    text = run_braid(*command, "--spill-dir", tmp_path / "none", code=1).stderr
    check_message(text, ["[spill] no file can be made in", "none", "No such file", "HINT"])
    assert not (tmp_path / "run").exists()
    run_braid("validate", tmp_path / "job.yaml", f"spill_dir={disk}")
    batch = models.batch("mlp", size=16, features=16)
    inputs = save(tmp_path / "x.safetensors", batch)
    plan = tmp_path / "plan.yaml"
    plan.write_text(json.dumps(IN_FILE))
    args = step_args("mlp", inputs, 2, "adamw", {}, tmp_path / "out", plan=plan)
    text = run_braid(*args, code=2).stderr
    check_message(text, ["[spill] the plan keeps", "no folder", "HINT: --spill-dir"])


def test_a_stop_while_it_prepares_leaves_nothing(tmp_path, disk):
    write(tmp_path, {"plan": IN_FILE, "spill_dir": "spill"})
    for delay in (0.05, 0.1, 0.2):
        process = start("train", tmp_path / "job.yaml", "--out", tmp_path / f"run{delay}")
        time.sleep(delay)
        process.terminate()
        assert process.wait() in (130, -signal.SIGTERM, 0), process.communicate()
        process.communicate()
        assert not list(disk.iterdir())
