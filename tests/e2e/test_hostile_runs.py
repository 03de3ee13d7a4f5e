"""Runs and jobs in a hostile or clumsy world, as a table: how to provoke what once
misled, stopped or crashed, the exit code and the words to expect."""

import json
import re
import resource
import shutil
import signal
import time
from pathlib import Path

import pytest
import torch
from braid_run import save
from hostile import (
    ENDLESS,
    EVERY_STEP,
    TRAIN,
    Cases,
    Done,
    braid,
    check_case,
    cut_to,
    ended,
    export,
    last_step,
    start,
    steps_of,
    wait_for,
    write_arrays,
)
from safetensors.torch import load_file
from torch import nn
from torch.nn import functional as F
from train_jobs import snapshot, write_job

case = Cases()


# --- a: losses of half precision


class HalfLoss(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.fc = nn.Linear(4, 3)

    def forward(self, x, y):
        return F.cross_entropy(self.fc(x), y).to(torch.bfloat16)


@case("a: a loss in bf16", 0, r"loss")
def half_loss(folder):
    module = HalfLoss()
    batch = {"x": torch.randn(8, 4), "y": torch.randint(0, 3, (8,))}
    export(folder / "half.pt2", module, (batch["x"], batch["y"]))
    save(folder / "batch.safetensors", batch)
    done = braid(
        folder, "step", "half.pt2", "--inputs", "batch.safetensors", "--steps", 1,
        "--optimizer", "sgd", "--set", "lr=0.1", "--out", "half",
    )  # fmt: skip
    losses = json.loads((folder / "half" / "losses.json").read_text())
    assert losses[0] == pytest.approx(module(**batch).item(), rel=1e-2)
    return done


# --- b: a config that was edited between stop and resume


@case("b: another learning rate in config.yaml", 2, r"config\.yaml", r"lr")
def edited_config(folder):
    cut_to(folder / "run", 5)
    config = folder / "run" / "config.yaml"
    assert "lr: 0.1" in config.read_text()
    config.write_text(config.read_text().replace("lr: 0.1", "lr: 0.2"))
    return braid(folder, "resume", "run")


# --- g: fields in another order


@case("g: fields of the evaluation in another order", 0, "done")
def fields_in_another_order(folder):
    write_arrays(folder, rows=40)
    files = ["x=x.npy", "y=y.npy"]
    write_job(folder / "job.yaml", {
        "data": {"source": "npy", "files": files},
        "eval": {"data": {"source": "npy", "files": files[::-1]}},
    })  # fmt: skip
    return braid(folder, *TRAIN)


# --- j: signals


@case("j: a limit of file sizes", 1, "new/checkpoints", "File too large", "HINT: free some space")
def file_size_limit(folder):
    write_job(folder / "job.yaml", {"model": "mlp(hidden=48)"} | EVERY_STEP)
    return braid(folder, *TRAIN, limit=(resource.RLIMIT_FSIZE, 4000))


@case("j: train | head -1", 0, "")
def a_reader_that_leaves(folder):
    write_job(folder / "job.yaml", {"epochs": 1000})
    process = start(folder, *TRAIN)
    assert process.stdout.readline().startswith(b"data ")
    process.stdout.close()
    process.stdout = None
    done = ended(process)
    assert steps_of(folder / "new") == [7000] and last_step(folder / "new") == 7000
    log = (folder / "new" / "log.txt").read_text()
    assert log.count("stdout cannot be written: Broken pipe") == 1
    return done


@case("j: inspect | head -1", 0, "")
def a_reader_of_much_that_leaves(folder):
    process = start(folder, "inspect", "resnet18", "--dump-after", "optimizer")
    process.stdout.readline()
    process.stdout.close()
    process.stdout = None
    return ended(process)


def stopped_by(number, times=1):
    def provoke(folder):
        write_job(folder / "job.yaml", ENDLESS | {"checkpoint": {"every": 0}})
        # Whoever runs the tests may have it ignored, as nohup does.
        heeded = {"preexec_fn": lambda: signal.signal(number, signal.SIG_DFL)}
        process = start(folder, *TRAIN, "-q", **heeded)
        wait_for(process, lambda: last_step(folder / "new") > 20)
        for _ in range(times):
            process.send_signal(number)
        done = ended(process)
        assert len(steps_of(folder / "new")) == 1
        return done

    return provoke


for number, times in ((signal.SIGHUP, 3), (signal.SIGTERM, 1), (signal.SIGINT, 1)):
    case(f"j: {number.name} saves and stops", 130, "stopped after step", "is saved", "HINT")(
        stopped_by(number, times)
    )


@case("j: nohup goes on", 0, "")
def nohup_goes_on(folder):
    process = start(folder, *TRAIN, preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
    process.send_signal(signal.SIGHUP)
    done = ended(process)
    assert steps_of(folder / "new")[-1] == 14
    return done


# --- k: threads


def with_threads(count, limit=None):
    def provoke(folder):
        write_job(folder / "job.yaml", {"threads": count})
        return braid(folder, *TRAIN, limit=limit)

    return provoke


for threads in (4000, 2**62):
    case(f"k: {threads} threads", 2, r"\[job\]", "threads", "at most 1024")(with_threads(threads))
case("k: many more threads than cores", 2, r"\[job\] expected at most \d+ threads", "HINT")(
    with_threads(1000)
)
case("k: threads under a limit of address space", 0, "done")(
    with_threads(64, limit=(resource.RLIMIT_AS, 8 << 30))
)


# --- m: weights that are NaN from the first step on


@case("m: every step is skipped", 1, r"\[train\]", r"not finite|nan", "HINT")
def all_steps_skipped(folder):
    weights = folder / "run" / "checkpoints" / "step-14" / "model.safetensors"
    save(folder / "nan.safetensors", {k: v * float("nan") for k, v in load_file(weights).items()})
    write_job(folder / "job.yaml", {
        "init": {"file": "nan.safetensors"}, "on_nan": "skip", "log_every": 2,
    })  # fmt: skip
    return braid(folder, *TRAIN)


@case("m: step with losses that are NaN", 1, r"nan|not finite")
def step_with_nan(folder):
    save(folder / "batch.safetensors", {
        "x": torch.full((8, 4), float("nan")), "y": torch.zeros(8, dtype=torch.int64),
    })  # fmt: skip
    return braid(
        folder, "step", "mlp", "--inputs", "batch.safetensors", "--steps", 2,
        "--optimizer", "sgd", "--out", "out",
    )  # fmt: skip


# --- n: export beside a training


@case("n: export beside a training", 0, "")
def export_beside_a_training(folder):
    write_job(folder / "job.yaml", ENDLESS | {"checkpoint": {"every": 1, "keep": 1}})
    process = start(folder, *TRAIN, "-q")
    try:
        wait_for(process, lambda: len(steps_of(folder / "new")) > 0)
        for i in range(8):
            done = braid(folder, "export", "new", "--to", f"{i}.safetensors")
            assert done.code == 0 and "damaged" not in done.err, done
    finally:
        process.send_signal(signal.SIGINT)
        ended(process)
    return Done(0)


# --- o: Ctrl-C while a large model is compiled


DEEP = "transformer_lm(width=8,heads=1,layers=4000)"


def heeds(process, number):
    """Whether it has a handler for the signal."""
    status = Path(f"/proc/{process.pid}/status").read_text()
    mask = int(re.search(r"SigCgt:\s*(\w+)", status)[1], 16)
    return mask >> (number - 1) & 1


def interrupted_while_compiling(folder, *args):
    before = snapshot(folder)
    process = start(folder, *args)
    wait_for(process, lambda: heeds(process, signal.SIGINT))
    time.sleep(0.5)  # it takes several seconds
    process.send_signal(signal.SIGINT)
    done = ended(process)
    assert snapshot(folder) == before
    return done


@case("o: Ctrl-C while a model compiles", 130, r"\[braid train\] stopped before the first step")
def interrupted_training(folder):
    (folder / "text.txt").write_text("to be or not to be " * 50)
    text = {"source": "text", "file": "text.txt", "length": 8}
    write_job(folder / "job.yaml", {"model": DEEP, "data": text})
    return interrupted_while_compiling(folder, *TRAIN)


@case("o: Ctrl-C while a step compiles", 130, r"\[braid step\] stopped before the first step")
def interrupted_step(folder):
    tokens = torch.zeros(2, 8, dtype=torch.int64)
    save(folder / "batch.safetensors", {"tokens": tokens, "targets": tokens.clone()})
    return interrupted_while_compiling(
        folder, "step", DEEP, "--inputs", "batch.safetensors", "--steps", "1",
        "--optimizer", "sgd", "--out", "out",
    )  # fmt: skip


# --- p: values that mean nothing


def with_value(*changes):
    def provoke(folder):
        return braid(folder, *TRAIN, *changes)

    return provoke


HUGE = 2**63 - 1
for value, code, *words in (
    ("model=mlp(hidden=8,hidden=16)", 2, r"\[model\]", "'hidden' twice"),
    ("init={'*.weight': normal(std=-1)}", 2, r"init", "std >= 0"),
    ("init={'*.weight': 'uniform(low=1,high=0)'}", 2, r"init", "low <= high"),
    (f"batch_size={HUGE}", 2, "batch_size", "at most 1000000000"),
    (f"epochs={HUGE}", 2, "epochs", "at most"),
    (f"steps={HUGE}", 2, "steps", "at most"),
    (f"eval.batch_size={HUGE}", 2, "batch_size", "at most"),
):
    case(f"p: {value}", code, *words, absent=(r"e\+18", "terminate"))(with_value(value))


@case("p: a crop without end", 2, "crop of at most 4096")
def endless_crop(folder):
    glyphs = {"source": "glyphs", "count": 50, "augment": {"crop": HUGE}}
    write_job(folder / "job.yaml", {"model": "lenet", "data": glyphs})
    return braid(folder, *TRAIN)


def with_jobs_json(text):
    def provoke(folder):
        (folder / "jobs").mkdir()
        (folder / "jobs" / "jobs.json").write_text(text)
        return braid(folder, "resume", "jobs")

    return provoke


for text, problem in {
    "": "it is empty",
    "{": "it is no JSON, from byte 2 on",
    "{}": "it has not the form",
    '{"jobs": [], "arrays": [], "profile": "{\\"seconds\\": {}}"}': "which jobs train together",
}.items():
    case(f"p: jobs.json is '{text}'", 1, r"\[resume\] 'jobs/jobs.json'", problem, "HINT",
         absent=("json.exception", "parse error"))(with_jobs_json(text))  # fmt: skip


# --- r: what a memory limit bounds


@case("r: bytes of the process beside those of the device", 0,
      r"peak   \S+ \S+ on cpu, \S+ MiB of the process")  # fmt: skip
def bytes_of_the_process(folder):
    return braid(folder, *TRAIN, "-v", "memory_limit=1MiB")


@case("r: bytes of the process in memory.json", 0, "done")
def bytes_in_memory_json(folder):
    save(folder / "batch.safetensors", {"x": torch.ones(8, 4), "y": torch.zeros(8).long()})
    done = braid(
        folder, "step", "mlp", "--inputs", "batch.safetensors", "--steps", 2,
        "--optimizer", "sgd", "--out", "out",
    )  # fmt: skip
    memory = json.loads((folder / "out" / "memory.json").read_text())
    assert memory["process_peak_bytes"] > memory["measured_peak_bytes"] > 0
    return done


@pytest.mark.parametrize("name", list(case))
def test_hostile(world, tmp_path, name):
    shutil.copytree(world, tmp_path / "world")
    check_case(case[name], tmp_path / "world")
