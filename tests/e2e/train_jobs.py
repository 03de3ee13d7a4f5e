"""A job that trains in a moment, and what all its error messages have."""

import json
import random
import re
import signal
import subprocess
import time
from contextlib import contextmanager

import pytest
from braid_run import braid_bin, run_braid

# 50 samples of a table; see write_table().
BASE = {
    "model": "mlp(hidden=8)",
    "data": {"source": "csv", "file": "table.csv"},
    "epochs": 2,
    "batch_size": 8,
    "optimizer": {"kind": "sgd", "lr": 0.1},
    "threads": 1,
}


def write_job(path, changes=None):
    """BASE with changes; None: the key is left out. JSON is YAML too."""
    job = {k: v for k, v in (BASE | (changes or {})).items() if v is not None}
    path.write_text("".join(f"{k}: {json.dumps(v)}\n" for k, v in job.items()))
    return path


def write_table(path, classes=3):
    rows = [
        f"{i % 7 / 7:.3f},{i % 5 / 5:.3f},{i % 3},{i / 50:.3f},{i % classes}" for i in range(50)
    ]
    path.write_text("\n".join(rows) + "\n")
    return path


def start(*args, **options):
    """The program in the background."""
    return subprocess.Popen(
        [braid_bin(), *map(str, args)],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options,
    )  # fmt: skip


def kill_at_random_moments(folder, command, check, whole_s, kills, seed):
    """Runs that are killed, most of them more than once, and may then end. `command(out)`
    is what a person types next, `check(out)` looks at the end, and a whole run lasts
    `whole_s`. Returns after so many kills."""
    generator = random.Random(seed)
    killed = trial = 0
    while killed < kills:
        out = folder / f"trial-{trial}"
        trial += 1
        for _ in range(generator.choice([1, 2, 3])):
            process = start(*command(out))
            time.sleep(generator.uniform(0.02, whole_s))
            process.kill()
            text = process.communicate()[0]
            assert process.returncode in (0, -signal.SIGKILL), text
            killed += process.returncode != 0
        run_braid(*command(out))
        check(out)


@contextmanager
def small_disk(folder, size):
    """A disk of that size, and a function that gives it another; skips without the right
    to mount."""
    disk = folder / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size}", "braid-test", str(disk)]
    if subprocess.run(mount, capture_output=True, check=False).returncode != 0:
        pytest.skip("needs the right to mount")

    def resize(size):
        subprocess.run(["mount", "-o", f"remount,size={size}", str(disk)], check=True)

    try:
        yield disk, resize
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def snapshot(folder):
    return {
        str(p.relative_to(folder)): p.read_bytes() if p.is_file() else None
        for p in folder.rglob("*")
    }


def check_message(text, words):
    """One message that begins with who speaks, fits a screen, and helps."""
    assert re.match(r"\[[\w. -]+\] \S", text), text
    for word in words:
        assert word in text, f"no '{word}' in:\n{text}"
    for trace in ("Exception raised from", "terminate called", "Traceback", "0x", "::", ".cpp"):
        assert trace not in text, text
    assert len(text.splitlines()) <= 12, text
    # Paths of the test count for nothing.
    short = re.sub(r"/\S*/", "", text)
    assert max(len(line) for line in short.splitlines()) <= 120, text
