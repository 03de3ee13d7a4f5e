"""Disks, folders, checkpoints and other processes that are in a run's way."""

import os
import resource
import signal
import struct
import subprocess
import time

import numpy as np
import pytest
from braid_run import braid_bin, run_braid
from train_jobs import check_message, small_disk, snapshot, start, write_job, write_table

EVERY_STEP = {"checkpoint": {"every": 1}}
ENDLESS = {"epochs": 10**6, "checkpoint": {"every": 1}}
LM = "transformer_lm(width=8,heads=1,layers=1)"


@pytest.fixture
def folder(tmp_path):
    write_table(tmp_path / "table.csv")
    write_job(tmp_path / "job.yaml", EVERY_STEP)
    return tmp_path


@pytest.fixture
def run(folder):
    """A finished run in folder/out, of 14 steps."""
    run_braid("train", "job.yaml", "--out", "out", "-q", cwd=folder)
    return folder / "out"


def fails(folder, *args, code, words):
    """Nothing on stdout, nothing changed."""
    before = snapshot(folder)
    done = run_braid(*args, code=code, cwd=folder)
    assert done.stdout == ""
    check_message(done.stderr, words)
    assert snapshot(folder) == before


# Command lines, in a folder with a finished run `out`: arguments, exit code,
# words.
TRAIN = ["train", "job.yaml", "--out"]
LINES = {
    "no job": (["train"], 2, ["[braid train]", "JOB", "HINT"]),
    "no out": (["train", "job.yaml"], 2, ["[braid train]", "--out", "HINT"]),
    "missing job": (["train", "none.yaml", "--out", "new"], 1, ["none.yaml", "HINT"]),
    "job is a folder": (["train", "out", "--out", "new"], 1, ["'out'", "directory"]),
    "empty job": (["train", "empty.yaml", "--out", "new"], 2, ["[job]", "empty.yaml"]),
    "broken job": (["train", "broken.yaml", "--out", "new"], 2, ["broken.yaml", "line"]),
    "job is binary": (["train", "binary.yaml", "--out", "new"], 2, ["binary.yaml"]),
    "job is a list": (["train", "list.yaml", "--out", "new"], 2, ["list.yaml"]),
    "unknown option": ([*TRAIN, "new", "--quite"], 2, ["[braid train]", "--quiet"]),
    "override without a value": ([*TRAIN, "new", "epochs"], 2, ["epochs", "HINT"]),
    "override of an unknown key": ([*TRAIN, "new", "epoch=2"], 2, ["epoch", "epochs"]),
    "override of a wrong kind": ([*TRAIN, "new", "epochs=few"], 2, ["epochs=few"]),
    "trace that cannot be written": (
        [*TRAIN, "new", "--trace", "none/trace.json"], 1, ["none/trace.json", "HINT"],
    ),
    "out holds a run": ([*TRAIN, "out"], 2, ["[out]", "holds a run", "braid resume out"]),
    "out holds other files": ([*TRAIN, "."], 2, ["[out]", "not empty", "HINT"]),
    "out is a file": ([*TRAIN, "table.csv"], 1, ["[out]", "table.csv", "HINT"]),
    "out below a file": ([*TRAIN, "table.csv/out"], 1, ["[out]", "table.csv/out", "HINT"]),
    "out cannot be created": ([*TRAIN, "/proc/none/out"], 1, ["[out]", "/proc/none/out"]),
    "resume what": (["resume"], 2, ["[braid resume]", "DIR"]),
    "resume nothing": (["resume", "none"], 2, ["[braid resume]", "'none'", "HINT"]),
    "resume a file": (["resume", "table.csv"], 2, ["[braid resume]", "table.csv", "HINT"]),
    "resume of a strange folder": (["resume", "."], 2, ["[braid resume]", "config.yaml"]),
    "validate nothing": (["validate"], 2, ["[braid validate]", "JOB"]),
    "validate what is missing": (["validate", "none.yaml"], 1, ["none.yaml"]),
    "export what": (["export"], 2, ["[braid export]", "DIR"]),
    "export nothing": (["export", "none"], 2, ["[braid export]", "'none'", "HINT"]),
    "export of an unknown step": (["export", "out", "--step", "3"], 2, ["step 3", "14"]),
    "export of a strange step": (["export", "out", "--step", "x"], 2, ["--step"]),
    "export without an average": (["export", "out", "--ema"], 2, ["model_ema", "it has model"]),
    "export of no network": (["export", "out", "--network", "g"], 2, ["'g'", "it has model"]),
    "export without an evaluation": (["export", "out", "--best"], 2, ["never evaluated"]),
    "export to nowhere": (["export", "out", "--to", "none/m.st"], 1, ["none/m.st", "HINT"]),
    "export to another format": (["export", "out", "--to", "a.pt2"], 2, ["--to a.safetensors"]),
    "export over a file": (["export", "out"], 2, ["model.safetensors", "--to"]),
}  # fmt: skip


@pytest.mark.parametrize("case", LINES)
def test_wrong_command_line(run, case):
    folder = run.parent
    for name, text in {"empty": b"", "broken": b"epochs: [1\n", "list": b"- 1\n"}.items():
        (folder / f"{name}.yaml").write_bytes(text)
    (folder / "binary.yaml").write_bytes(bytes(range(256)))
    (folder / "model.safetensors").write_text("mine")
    args, code, words = LINES[case]
    fails(folder, *args, code=code, words=words)


def test_data_that_are_wrong_inside_are_named_when_they_are_read(folder):
    """What only reading shows; the run is then as it was at its last checkpoint."""
    (folder / "tokens.bin").write_bytes(struct.pack("<50H", *range(50)))
    np.save(folder / "x.npy", np.zeros((50, 4), np.float32))
    np.save(folder / "y.npy", np.arange(50) % 3 - 1)
    for name in ("one", "two"):
        (folder / "pictures" / name).mkdir(parents=True)
        (folder / "pictures" / name / "a.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(9))
    tokens = {"source": "tokens", "file": "tokens.bin", "vocab": 2, "length": 4}
    arrays = {"source": "npy", "files": ["x=x.npy", "y=y.npy"]}
    pictures = {"source": "images", "folder": "pictures", "side": 12}
    cases = [
        ({"model": LM, "data": tokens}, 1, ["tokens.bin", "below 2"]),
        ({"data": arrays}, 1, ["row 0", "y.npy holds -1", "HINT"]),
        ({"model": "lenet", "data": pictures}, 1, ["a.png"]),
    ]
    for number, (changes, code, words) in enumerate(cases):
        write_job(folder / "job.yaml", changes)
        done = run_braid("train", "job.yaml", "--out", f"out{number}", code=code, cwd=folder)
        check_message(done.stderr, words)
        assert not list((folder / f"out{number}").rglob(".*"))


def limited(folder, *args, file_bytes):
    """A disk that takes no longer files; writing beyond fails instead of killing."""
    return subprocess.run(
        [braid_bin(), *args], cwd=folder, capture_output=True, text=True, check=False,
        restore_signals=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (file_bytes, file_bytes)),
    )  # fmt: skip


def weights(out):
    return (out / "checkpoints" / "step-14" / "model.safetensors").read_bytes()


@pytest.mark.parametrize("file_bytes", [0, 600, 4000])
def test_disk_full(folder, file_bytes):
    write_job(folder / "job.yaml", EVERY_STEP | {"model": "mlp(hidden=48)"})
    run_braid(*TRAIN, "out", "-q", cwd=folder)
    done = limited(folder, *TRAIN, "full", file_bytes=file_bytes)
    assert done.returncode == 1
    check_message(done.stderr, ["full", "HINT: free some space"])
    assert not list(folder.rglob(".*"))
    has_begun = file_bytes >= 4000  # the config fitted, a checkpoint did not
    assert (folder / "full").exists() == has_begun
    run_braid(*(["resume", "full"] if has_begun else [*TRAIN, "full"]), cwd=folder)
    assert weights(folder / "full") == weights(folder / "out")


def test_disk_that_fills_up_while_training(folder):
    """Earlier checkpoints stay, and with room the run goes on."""
    with small_disk(folder, "96k") as (disk, resize):
        write_job(folder / "job.yaml", {"checkpoint": {"every": 1, "keep": 100}})
        done = run_braid(*TRAIN, disk / "out", code=1, cwd=folder)
        check_message(done.stderr, ["No space left", "HINT: free some space"])
        steps = list((disk / "out" / "checkpoints").iterdir())
        assert steps and all((step / "COMPLETE").exists() for step in steps)
        resize("8m")
        assert "going on after step" in run_braid("resume", disk / "out", cwd=folder).stdout
        run_braid(*TRAIN, "other", cwd=folder)
        assert weights(disk / "out") == weights(folder / "other")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_read_only_folders(run):
    folder = run.parent
    (folder / "locked").mkdir(mode=0o500)
    fails(folder, *TRAIN, "locked/out", code=1, words=["[out]", "HINT"])
    run.chmod(0o500)
    (run / "checkpoints").chmod(0o500)
    assert run_braid("export", "out", "--to", "m.safetensors", cwd=folder).returncode == 0


def damage(path):
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def test_checkpoints_that_are_all_damaged_stop_a_resume(run):
    steps = sorted(p for p in (run / "checkpoints").iterdir())
    for step in steps:
        damage(step / "model.safetensors")
    words = ["[resume]", "no checkpoint is whole", *(s.name for s in steps), "HINT: delete"]
    fails(run.parent, "resume", "out", code=1, words=words)
    fails(run.parent, "export", "out", "--to", "m", code=2, words=["no complete checkpoint"])


def test_a_checkpoint_without_its_marker_is_passed_over(run):
    (run / "checkpoints" / "step-14" / "COMPLETE").unlink()
    before = weights(run)
    text = run_braid("resume", "out", cwd=run.parent).stdout
    assert "step-14' is damaged" in text and "going on after step 13" in text
    assert weights(run) == before


def test_a_changed_config_does_not_take_the_checkpoints_of_the_old_one(run):
    config = run / "config.yaml"
    text = config.read_text()
    for old, new, words in (
        ("hidden=8", "hidden=9", ["[resume]", "another job", "hidden=9", "HINT"]),
        ("epochs: 2", "epochs: 1", ["[resume]", "has done 14 steps", "HINT"]),
        ("batch_size: 8", "batch_size: 25", ["[resume]", "another job"]),
        ("batch_size: 8", "batch_size: 7", ["[resume]", "batch_size is 7, was 8", "HINT"]),
    ):
        assert old in text
        config.write_text(text.replace(old, new))
        fails(run.parent, "resume", "out", code=2, words=words)
    config.write_text(text.replace("epochs: 2", "epochs: two"))
    fails(run.parent, "resume", "out", code=2, words=["[job] out/config.yaml line", "two"])


def test_data_that_changed_meanwhile_stop_a_resume(run):
    folder = run.parent
    rows = (folder / "table.csv").read_text().splitlines()
    (folder / "table.csv").write_text("\n".join(rows[:30]) + "\n")
    fails(folder, "resume", "out", code=2, words=["[resume]", "HINT"])
    (folder / "table.csv").unlink()
    fails(folder, "resume", "out", code=1, words=["table.csv", "HINT"])


def test_a_file_in_place_of_the_checkpoints(run):
    folder = run.parent
    (run / "checkpoints").rename(folder / "moved")
    (run / "checkpoints").write_text("mine")
    fails(folder, "resume", "out", code=1, words=["[checkpoint]", "checkpoints", "HINT"])


def test_two_runs_do_not_write_to_one_folder(folder):
    write_job(folder / "endless.yaml", ENDLESS)
    process = start("train", "endless.yaml", "--out", "out", cwd=folder)
    try:
        while not list(folder.glob("out/checkpoints/step-*")):
            assert process.poll() is None
            time.sleep(0.005)
        for args in (["resume", "out"], [*TRAIN, "out"],
                     ["train", "endless.yaml", "--out", "out", "--resume"]):  # fmt: skip
            done = run_braid(*args, code=1, cwd=folder)
            check_message(done.stderr, ["[out] another run writes to", "HINT: wait"])
        assert process.poll() is None
    finally:
        process.send_signal(signal.SIGINT)
        text = process.communicate()[0]
    assert process.returncode == 130, text
    run_braid("export", "out", cwd=folder)
    assert (folder / "model.safetensors").exists()


def test_what_a_killed_start_left_is_no_reason_to_refuse(folder):
    (folder / "out").mkdir()
    (folder / "out" / ".braid-tmp-1-0").write_text("half a config")
    run_braid(*TRAIN, "out", cwd=folder)
    assert not list((folder / "out").rglob(".*"))


def test_a_loss_that_is_not_finite_stops_the_run(folder):
    write_job(folder / "job.yaml", EVERY_STEP | {"optimizer": {"kind": "sgd", "lr": 1e30}})
    done = run_braid(*TRAIN, "out", code=1, cwd=folder)
    check_message(done.stderr, ["[train] the loss is", "is saved", "HINT: lower"])
    assert list((folder / "out" / "checkpoints").glob("step-*"))
    assert "the loss is" in (folder / "out" / "log.txt").read_text()


def test_a_loss_that_is_not_finite_can_be_skipped(folder):
    table = np.loadtxt(folder / "table.csv", delimiter=",")
    table[0, :4] = np.inf
    np.save(folder / "x.npy", table[:, :4].astype(np.float32))
    np.save(folder / "y.npy", table[:, 4].astype(np.int64))
    data = {"source": "npy", "files": ["x=x.npy", "y=y.npy"], "allow_nan": True}
    write_job(folder / "job.yaml", {"on_nan": "skip", "data": data})
    done = run_braid(*TRAIN, "out", cwd=folder)
    words = "step 10: steps whose loss is not finite were skipped: 2 of the last 10"
    assert done.stdout.count("were skipped") == done.stdout.count(words) == 1
    assert words in (folder / "out" / "log.txt").read_text()
    write_job(folder / "job.yaml", {"data": data})
    assert run_braid(*TRAIN, "stopped", code=1, cwd=folder).stderr.startswith("[train]")


def test_quiet_is_one_line(folder):
    done = run_braid(*TRAIN, "out", "-q", cwd=folder)
    assert (done.stdout, done.stderr) == ("done   14 steps  out\n", "")


def test_plain_lines_are_few(folder):
    """Without a terminal: a head, a line now and then, the result."""
    done = run_braid(*TRAIN, "out", cwd=folder)
    lines = done.stdout.splitlines()
    assert [line.split()[0] for line in lines] == ["data", "model", "step", "done"]
    assert max(map(len, lines)) <= 120 and done.stderr == ""


@pytest.mark.parametrize(
    "verb",
    ["", "train", "resume", "worker", "plan", "simulate", "validate", "export", "eval", "step"],
)
def test_help_fits_the_screen(verb):
    text = run_braid(*verb.split(), "--help").stdout
    assert text and max(len(line) for line in text.splitlines()) <= 80
