"""Lists of jobs go on after kills and signals, whole or job by job."""

import json
import os
import random
import shutil
import signal
import time

import pytest
from braid_run import run_braid
from list_jobs import (
    BASE,
    check_same_members,
    content,
    differences,
    train_list,
    write_list,
)
from train_jobs import check_message, kill_at_random_moments, start

LONG = bool(os.environ.get("BRAID_TEST_LONG"))

# Two arrays; unequal steps and checkpoints, early stopping, averages.
MEMBERS = {
    "a": {"seed": 1, "checkpoint.every": 1},
    "b": {"optimizer.lr": 0.004, "steps": 7, "eval.every": 2, "log_every": 1},
    "c": {"seed": 3, "eval.every": 3, "checkpoint.best": "accuracy", "checkpoint.every": 4},
    "d": {"batch_size": 4, "steps": 6},
}


@pytest.fixture(name="whole", scope="module")
def train_whole(tmp_path_factory):
    """The file of a list, the folder of a run that nothing interrupted, its duration."""
    folder = tmp_path_factory.mktemp("whole")
    begun = time.monotonic()
    train_list(folder, MEMBERS, ema=0.9)
    return folder / "list.yaml", folder / "list", time.monotonic() - begun


def command(job, out):
    """What a person types next."""
    return ["resume", out] if (out / "jobs.json").exists() else ["train", job, "--out", out]


def check_whole(out, expected):
    check_same_members(out, expected, MEMBERS)
    assert not list(out.rglob(".*")), "what killed runs left is gone"


def test_killed_at_random_moments(tmp_path, whole):
    job, expected, whole_s = whole
    kill_at_random_moments(
        tmp_path, lambda out: command(job, out), lambda out: check_whole(out, expected),
        whole_s, kills=100 if LONG else 4, seed="lists",
    )  # fmt: skip


def interrupt(job, out, after):
    """Ctrl-C once this file is there."""
    process = start("train", job, "--out", out)
    while not list(out.glob(after)):
        assert process.poll() is None, process.communicate()[0]
        time.sleep(0.002)
    process.send_signal(signal.SIGINT)
    return process.communicate()[0], process.returncode


@pytest.fixture(name="endless")
def write_endless(tmp_path):
    """A list that lasts until somebody ends it."""
    members = {name: MEMBERS[name] | {"steps": 10**6} for name in ("a", "b", "c")}
    return write_list(tmp_path / "endless.yaml", members)


def test_a_signal_stops_and_everything_is_saved(tmp_path, endless):
    text, code = interrupt(endless, tmp_path / "out", "a/checkpoints/step-2")
    assert code == 130, text
    assert "everything is saved" in text
    assert f"HINT: 'braid resume {tmp_path / 'out'}' goes on" in text
    steps = {len(list((tmp_path / "out" / n / "checkpoints").glob("step-*"))) for n in "abc"}
    assert 0 not in steps


def stop_in_the_middle(folder, whole, name="out"):
    """A list as it was at a checkpoint: the array's, and those of members until then."""
    job, expected, _ = whole
    out = folder / name
    while True:
        shutil.rmtree(out, ignore_errors=True)
        _, code = interrupt(job, out, "a/checkpoints/step-1")
        if code == 130:
            return out, expected


def test_a_stopped_list_goes_on_to_the_same_end(tmp_path, whole):
    out, expected = stop_in_the_middle(tmp_path, whole)
    text = run_braid("resume", out).stdout
    assert "going on after step" in text
    check_whole(out, expected)
    assert "4 done" in text or "done   4 jobs" in text


def test_a_finished_list_stays_as_it_is(tmp_path, whole):
    _, expected, _ = whole
    out = tmp_path / "out"
    shutil.copytree(expected, out)
    before = {name: content(out / name) for name in MEMBERS}
    assert "done   4 jobs" in run_braid("resume", out).stdout
    assert {name: content(out / name) for name in MEMBERS} == before


def test_a_member_goes_on_alone_and_joins_again(tmp_path, whole):
    """Alone its sums may round otherwise: only near, but others keep their bits."""
    out, expected = stop_in_the_middle(tmp_path, whole)
    assert "going on after step" in run_braid("resume", out / "c").stdout
    ended = content(out / "c")
    assert (out / "c" / "checkpoints" / "step-9").exists()
    run_braid("resume", out)
    assert content(out / "c") == ended, "it is taken as it is"
    for name in ("b", "d"):
        assert content(out / name).keys() == content(expected / name).keys()


def test_a_member_that_went_on_a_little_alone_keeps_all_its_rows(tmp_path, whole):
    """Killed alone before its next checkpoint, behind where the array was."""
    out, expected = stop_in_the_middle(tmp_path, whole)
    process = start("resume", out / "b")
    time.sleep(random.Random(1).uniform(0.05, 0.3))
    process.kill()
    process.communicate()
    run_braid("resume", out)
    rows = content(out / "b")["metrics"].count("\n")
    assert rows == content(expected / "b")["metrics"].count("\n")


def test_a_member_that_went_back_alone_gets_all_its_rows_again(tmp_path, whole):
    """Its own checkpoint was behind the array's, and it was killed at once."""
    job, expected, _ = whole
    out = tmp_path / "out"
    process = start("train", job, "--out", out)
    while not (out / "a" / "checkpoints" / "step-5").exists():
        assert process.poll() is None, process.communicate()[0]
        time.sleep(0.001)
    process.kill()
    process.communicate()
    own = max(int(p.name[5:]) for p in (out / "b" / "checkpoints").glob("step-*"))
    rows = (out / "b" / "metrics.jsonl").read_text().splitlines(keepends=True)
    kept = [row for row in rows if json.loads(row)["step"] <= own]
    (out / "b" / "metrics.jsonl").write_text("".join(kept))  # as the run alone does
    run_braid("resume", out)
    check_whole(out, expected)


def array_checkpoint(out):
    return next((out / "array-0" / "checkpoints").glob("step-*"))


def damage(path):
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def break_link(path):
    """Its bytes may be those of a member's checkpoint too."""
    data = path.read_bytes()
    path.unlink()
    path.write_bytes(data)


@pytest.mark.parametrize("file", ["0.model.safetensors", "meta.json", "COMPLETE"])
def test_a_damaged_array_checkpoint_loses_nothing(tmp_path, whole, file):
    """Each member goes on from its own newest checkpoint, and the list says so."""
    out, expected = stop_in_the_middle(tmp_path, whole)
    path = array_checkpoint(out) / file
    break_link(path)
    damage(path)
    text = run_braid("resume", out).stdout
    assert "is damaged" in text
    check_whole(out, expected)


def test_a_member_without_any_whole_checkpoint_stops_a_resume(tmp_path, whole):
    out, _ = stop_in_the_middle(tmp_path, whole)
    damage(array_checkpoint(out) / "meta.json")
    for path in (out / "b" / "checkpoints").glob("*/model.safetensors"):
        break_link(path)
        damage(path)
    words = ["[resume]", "no checkpoint is whole", "/b/checkpoints", "HINT: delete"]
    check_message(run_braid("resume", out, code=1).stderr, words)


def test_a_member_folder_that_was_deleted_comes_back(tmp_path, whole):
    out, expected = stop_in_the_middle(tmp_path, whole)
    shutil.rmtree(out / "b")
    run_braid("resume", out)
    newest = max((out / "b" / "checkpoints").iterdir(), key=lambda p: int(p.name[5:])).name
    for file in ("model.safetensors", "state.safetensors"):
        name = f"checkpoints/{newest}/{file}"
        assert content(out / "b")[name] == content(expected / "b")[name]
    check_same_members(out, expected, ["a", "c", "d"])


def test_train_with_resume_takes_the_same_list_only(tmp_path, whole):
    out, expected = stop_in_the_middle(tmp_path, whole)
    job = whole[0]
    done = run_braid("train", job, "--out", out, "--resume", "epochs=2", code=2)
    check_message(done.stderr, ["[braid train]", "holds other jobs", "HINT: 'braid resume"])
    done = run_braid("train", job, "--out", out, code=2)
    check_message(done.stderr, ["[out]", "holds jobs", "HINT: 'braid resume"])
    run_braid("train", job, "--out", out, "--resume")
    check_whole(out, expected)


def test_two_processes_do_not_train_one_list(tmp_path, endless):
    out = tmp_path / "out"
    process = start("train", endless, "--out", out)
    try:
        while not list(out.glob("a/checkpoints/step-*")):
            assert process.poll() is None
            time.sleep(0.005)
        for folder in (out, out / "a"):
            done = run_braid("resume", folder, code=1)
            check_message(done.stderr, ["[out] another run writes to", "HINT: wait"])
        assert process.poll() is None
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate()


# A loss that is not finite.

BROKEN = {"optimizer.lr": 1e30}


def test_a_member_that_fails_fails_alone(tmp_path):
    healthy = {"x": {"seed": 1}, "odd": {"seed": 2}, "y": {"seed": 3}}
    (tmp_path / "healthy").mkdir()
    train_list(tmp_path / "healthy", healthy)
    broken = healthy | {"odd": healthy["odd"] | BROKEN}
    path = write_list(tmp_path / "list.yaml", broken)
    done = run_braid("train", path, "--out", tmp_path / "list", code=1)
    assert "[braid train] odd: the loss is" in done.stderr and "HINT: lower" in done.stderr
    assert "failed" in done.stdout
    check_same_members(tmp_path / "list", tmp_path / "healthy" / "list", ["x", "y"])
    assert "the loss is" in (tmp_path / "list" / "odd" / "log.txt").read_text()
    assert "odd: the loss is" in run_braid("resume", tmp_path / "list", code=1).stderr
    check_same_members(tmp_path / "list", tmp_path / "healthy" / "list", ["x", "y"])


def test_a_member_that_skips_all_steps_fails_in_the_end(tmp_path):
    """A line of the log sums up what was skipped; that nothing was learned is no success."""
    members = {"x": {"seed": 1}, "odd": {"seed": 2, "on_nan": "skip"} | BROKEN}
    path = write_list(tmp_path / "list.yaml", members, on_nan="skip")
    done = run_braid("train", path, "--out", tmp_path / "list", code=1)
    assert (
        "odd: step 4: steps whose loss is not finite were skipped: 2 of the last 2" in done.stdout
    )
    assert "odd: the last 8 of 9 steps were skipped" in done.stderr
    assert (tmp_path / "list" / "x" / "checkpoints" / f"step-{BASE['steps']}").exists()
    assert not (tmp_path / "list" / "odd" / "checkpoints" / f"step-{BASE['steps']}").exists()


def test_differences_are_found(whole):
    """The comparison itself can fail."""
    _, out, _ = whole
    assert differences(content(out / "a"), content(out / "c"))
