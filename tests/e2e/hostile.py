"""A hostile or clumsy world: how a table of cases is written and checked. Letters name
the kinds of trouble."""

import json
import re
import resource
import shutil
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from braid_run import braid_bin
from train_jobs import write_job, write_table

EVERY_STEP = {"checkpoint": {"every": 1, "keep": 100}}
ENDLESS = {"epochs": 10**6, "checkpoint": {"every": 1}}
TRAIN = ["train", "job.yaml", "--out", "new"]


@dataclass
class Done:
    """What a process left."""

    code: int
    out: str = ""
    err: str = ""


@dataclass
class Case:
    """`provoke(folder)` gives a Done; the folder holds job.yaml and table.csv, and in
    `run` a finished run of 14 steps, all of them kept."""

    provoke: Callable
    code: int
    words: list  # patterns, on stderr unless it is empty
    absent: tuple = ()  # patterns that must not be there


class Cases(dict):
    """A table by name; calling it adds a row: the function below is how."""

    def __call__(self, name, code, *words, absent=()):
        def add(provoke):
            self[name] = Case(provoke, code, list(words), absent)
            return provoke

        return add


def braid(folder, *args, stdout=subprocess.PIPE, limit=None, timeout=120, **options):
    """The program with the signals that shells give it; `limit`: (which, amount)."""
    done = subprocess.run(
        [braid_bin(), *map(str, args)], cwd=folder, stdout=stdout, stderr=subprocess.PIPE,
        check=False, timeout=timeout,
        preexec_fn=(lambda: resource.setrlimit(limit[0], (limit[1],) * 2)) if limit else None,
        **options,
    )  # fmt: skip
    out = (done.stdout or b"").decode(errors="replace")
    return Done(done.returncode, out, done.stderr.decode(errors="replace"))


def start(folder, *args, stdout=subprocess.PIPE, **options):
    return subprocess.Popen(
        [braid_bin(), *map(str, args)], cwd=folder, stdout=stdout, stderr=subprocess.PIPE,
        **options,
    )  # fmt: skip


def ended(process, timeout=60):
    out, err = process.communicate(timeout=timeout)
    return Done(process.returncode, (out or b"").decode(), err.decode())


def wait_for(process, condition):
    while not condition():
        assert process.poll() is None, process.communicate()
        time.sleep(0.005)


def steps_of(run):
    return sorted(int(p.name.removeprefix("step-")) for p in (run / "checkpoints").glob("step-*"))


def last_step(run):
    """In the metrics."""
    path = run / "metrics.jsonl"
    lines = path.read_text().splitlines() if path.exists() else []
    return max((json.loads(line)["step"] for line in lines), default=0)


def cut_to(run, step):
    """The run as if it had been killed after that step."""
    for later in steps_of(run):
        if later > step:
            shutil.rmtree(run / "checkpoints" / f"step-{later}")


def write_arrays(folder, rows=4000, features=64):
    """x.npy of a megabyte, y.npy, and a job of them that never ends."""
    np.save(folder / "x.npy", np.ones((rows, features), np.float32))
    np.save(folder / "y.npy", np.arange(rows) % 3)
    data = {"source": "npy", "files": ["x=x.npy", "y=y.npy"]}
    write_job(folder / "arrays.yaml", {"data": data, "epochs": 10**6})


def export(path, module, inputs):
    torch.export.save(torch.export.export(module.train(), inputs, strict=False), path)
    return path


def make_world(folder):
    """What every case gets a copy of."""
    write_table(folder / "table.csv")
    write_job(folder / "job.yaml", EVERY_STEP)
    done = braid(folder, "train", "job.yaml", "--out", "run", "-q")
    assert done.code == 0, done
    return folder


def check_case(row, folder):
    """Provokes it in a copy of the world."""
    done = row.provoke(folder)
    text = done.err or done.out
    assert done.code == row.code, f"{done.code}: {text[:2000]}"
    for word in row.words:
        assert re.search(word, text), f"no '{word}' in:\n{text[:2000]}"
    for word in (*row.absent, "terminate called", "Traceback", "Segmentation"):
        assert not re.search(word, text), text[:2000]
    assert not [p for p in Path(folder).rglob(".*")], "something was left behind"
