"""A job that trains in a moment, and what all its error messages have."""

import json
import re
import subprocess

from braid_run import braid_bin

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
