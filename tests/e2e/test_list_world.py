"""Disks and folders that are in the way of a list of jobs."""

import os
import resource
import subprocess

import pytest
from braid_run import braid_bin, run_braid
from list_jobs import check_same_members, train_list, write_list
from train_jobs import check_message, small_disk, snapshot

MEMBERS = {f"m{i}": {"seed": i, "checkpoint.every": 1} for i in range(3)}


@pytest.fixture(name="whole", scope="module")
def train_whole(tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole")
    train_list(folder, MEMBERS)
    return folder / "list.yaml", folder / "list"


def limited(*args, file_bytes):
    """A disk that takes no longer files; writing beyond fails instead of killing."""
    return subprocess.run(
        [braid_bin(), *map(str, args)], capture_output=True, text=True, check=False,
        restore_signals=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (file_bytes, file_bytes)),
    )  # fmt: skip


@pytest.mark.parametrize("file_bytes", [0, 1000, 20000])
def test_disk_full(tmp_path, whole, file_bytes):
    """Not even the list fits, no folder of a member, or no checkpoint."""
    job, expected = whole
    out = tmp_path / "out"
    done = limited("train", job, "--out", out, file_bytes=file_bytes)
    assert done.returncode == 1
    check_message(done.stderr, ["out", "HINT: free some space"])
    assert not list(tmp_path.rglob(".*"))
    assert out.exists() == (file_bytes == 20000)
    run_braid(*(["resume", out] if out.exists() else ["train", job, "--out", out]))
    check_same_members(out, expected, MEMBERS)


def test_disk_that_fills_up_while_training(tmp_path, whole):
    job, expected = whole
    with small_disk(tmp_path, "1500k") as (disk, resize):
        done = run_braid("train", job, "--out", disk / "out", code=1)
        check_message(done.stderr, ["No space left", "HINT: free some space"])
        resize("32m")
        run_braid("resume", disk / "out")
        check_same_members(disk / "out", expected, MEMBERS)


def test_out_that_cannot_be_used(tmp_path, whole):
    job, _ = whole
    (tmp_path / "file").write_text("mine")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine").write_text("mine")
    before = snapshot(tmp_path)
    for out, code, words in (
        (tmp_path / "file", 1, ["[out]", "HINT"]),
        (tmp_path / "full", 2, ["[out]", "not empty", "HINT"]),
        (tmp_path / "file" / "below", 1, ["[out]", "HINT"]),
    ):
        done = run_braid("train", job, "--out", out, code=code)
        assert done.stdout == ""
        check_message(done.stderr, words)
    assert snapshot(tmp_path) == before


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_read_only_folder(tmp_path, whole):
    (tmp_path / "locked").mkdir(mode=0o500)
    done = run_braid("train", whole[0], "--out", tmp_path / "locked" / "out", code=1)
    check_message(done.stderr, ["[out]", "HINT"])


def test_a_list_that_cannot_be_read(tmp_path, whole):
    job, _ = whole
    out = tmp_path / "out"
    run_braid("train", job, "--out", out, "-q", "steps=1")
    (out / "jobs.json").write_text("{}")
    check_message(run_braid("resume", out, code=1).stderr, ["[resume]", "jobs.json"])


def test_a_trace_is_no_file_of_the_jobs(tmp_path):
    path = write_list(tmp_path / "list.yaml", MEMBERS)
    run_braid("train", path, "--out", "out", "-q", cwd=tmp_path)
    done = run_braid("resume", "out", "--trace", "out/jobs.json", code=2, cwd=tmp_path)
    check_message(done.stderr, ["out/jobs.json", "HINT"])


def test_a_profile_is_written_and_read(tmp_path):
    path = write_list(tmp_path / "list.yaml", MEMBERS)
    profile = tmp_path / "profile.json"
    for out in ("first", "second"):
        run_braid("train", path, "--out", tmp_path / out, "--profile", profile, "-q")
        assert profile.stat().st_size > 10
    check_same_members(tmp_path / "second", tmp_path / "first", MEMBERS)
