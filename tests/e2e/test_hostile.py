"""A hostile or clumsy world, as a table: how to provoke what once misled, stopped or
crashed, the exit code and the words to expect. Letters name the kinds of trouble."""

import json
import os
import re
import resource
import shutil
import signal
import struct
import subprocess
import threading
import time
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import torch
from braid_run import braid_bin, save
from safetensors.torch import load_file
from torch import nn
from torch.nn import functional as F
from train_jobs import snapshot, write_job, write_table

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


CASES = {}


def case(name, code, *words, absent=()):
    """A row of the table: the function below it is how."""

    def add(provoke):
        CASES[name] = Case(provoke, code, list(words), absent)
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


# --- c: files that get shorter while they are mapped


def shorten_while_training(folder, name, size):
    """`size` is negative when so many bytes go."""
    write_arrays(folder)
    size = size if size >= 0 else (folder / name).stat().st_size + size
    process = start(folder, "train", "arrays.yaml", "--out", "new", "-q")
    wait_for(process, lambda: last_step(folder / "new") > 20)
    os.truncate(folder / name, size)
    done = ended(process)
    assert steps_of(folder / "new")[-1] >= last_step(folder / "new")
    assert "is saved" in (folder / "new" / "log.txt").read_text()
    return done


@case("c: data that is cut to nothing", 1, r"\[file.read\] '.*x\.npy'", "shorter", "HINT")
def data_cut_to_nothing(folder):
    return shorten_while_training(folder, "x.npy", 0)


@case("c: data that loses a byte", 1, r"y\.npy' became shorter", "HINT")
def data_loses_a_byte(folder):
    return shorten_while_training(folder, "y.npy", -1)


@case("c: and goes on when the data is back", 130, "stopped after step")
def data_is_back(folder):
    shorten_while_training(folder, "x.npy", 1000)
    write_arrays(folder)
    saved = steps_of(folder / "new")[-1]
    process = start(folder, "resume", "new")
    assert f"going on after step {saved}" in "".join(
        process.stdout.readline().decode() for _ in range(4)
    )
    wait_for(process, lambda: last_step(folder / "new") > saved + 10)
    process.send_signal(signal.SIGINT)
    done = ended(process)
    assert steps_of(folder / "new")[-1] > saved
    return done


@case("c: data of jobs of a list", 1, r"x\.npy", "shorter")
def data_of_a_list_cut(folder):
    write_arrays(folder)
    job = (folder / "arrays.yaml").read_text()
    (folder / "arrays.yaml").write_text(job + "members: [{seed: 1}, {seed: 2}]\n")
    process = start(folder, "train", "arrays.yaml", "--out", "new", "-q")
    wait_for(process, lambda: last_step(folder / "new" / "seed=1") > 20)
    os.truncate(folder / "x.npy", 1000)
    done = ended(process)
    assert steps_of(folder / "new" / "seed=1") and steps_of(folder / "new" / "seed=2")
    return done


# --- d: outputs that are not plain files


def export_to(folder, to):
    return braid(folder, "export", "run", "--to", to)


@case("d: export into a pipe", 0, r"done .*pipe")
def export_into_a_pipe(folder):
    os.mkfifo(folder / "pipe")
    got = []
    reader = threading.Thread(target=lambda: got.append((folder / "pipe").read_bytes()))
    reader.start()
    done = export_to(folder, "pipe")
    if not (folder / "pipe").is_fifo():  # nobody will ever write there
        (folder / "pipe").unlink()
        os.mkfifo(folder / "pipe")
        (folder / "pipe").write_bytes(b"")
        pytest.fail("the pipe was replaced")
    reader.join()
    newest = folder / "run" / "checkpoints" / "step-14" / "model.safetensors"
    assert got == [newest.read_bytes()]
    return done


@case("d: export into a device", 0, "done")
def export_into_a_device(folder):
    try:
        os.mknod(folder / "null", 0o666 | 0o020000, os.makedev(1, 3))
    except PermissionError:
        pytest.skip("needs the right to make devices")
    done = export_to(folder, "null")
    assert (folder / "null").is_char_device()
    return done


@case("d: export through a link", 0, "done")
def export_through_a_link(folder):
    (folder / "there").mkdir()
    (folder / "there" / "old").write_text("old")
    (folder / "link").symlink_to("there/old")
    done = export_to(folder, "link")
    assert (folder / "link").is_symlink()
    assert (folder / "there" / "old").stat().st_size > 100
    return done


@case("d: export over what is read-only", 1, r"\[file.write\] 'mine' is read-only", "HINT")
def export_over_read_only(folder):
    (folder / "mine").write_text("mine")
    (folder / "mine").chmod(0o444)
    done = export_to(folder, "mine")
    assert (folder / "mine").read_text() == "mine"
    return done


def export_over(name):
    def provoke(folder):
        before = snapshot(folder)
        done = export_to(folder, name)
        assert snapshot(folder) == before
        return done

    return provoke


for own in ("config.yaml", "log.txt", "metrics.jsonl", "checkpoints/step-14/model.safetensors",
            "checkpoints/new.safetensors"):  # fmt: skip
    case(f"d: export over the run's {own}", 2, r"\[out\]", "of the run", "HINT")(
        export_over(f"run/{own}")
    )


@case("d: export over the run's config by a link", 2, r"\[out\] 'link'", "of the run")
def export_over_a_link(folder):
    (folder / "link").symlink_to("run/config.yaml")
    return export_over("link")(folder)


@case("d: export into the run's folder", 0, r"done .*run/model\.safetensors")
def export_into_the_folder(folder):
    return export_to(folder, "run/model.safetensors")


@case("d: a trace over the run's log", 2, r"\[out\] 'run/log.txt'", "of the run", "HINT")
def trace_over_the_log(folder):
    cut_to(folder / "run", 5)
    before = snapshot(folder)
    done = braid(folder, "resume", "run", "--trace", "run/log.txt")
    assert snapshot(folder) == before
    return done


@case("d: a trace over what is read-only", 1, "'mine' is read-only")
def trace_over_read_only(folder):
    (folder / "mine").write_text("mine")
    (folder / "mine").chmod(0o444)
    return braid(folder, *TRAIN, "--trace", "mine")


@case("d: a trace through a link", 0, "done")
def trace_through_a_link(folder):
    (folder / "link").symlink_to("trace.json")
    done = braid(folder, *TRAIN, "--trace", "link")
    assert (folder / "link").is_symlink() and json.loads((folder / "trace.json").read_text())
    return done


# --- e: names in jobs.json


def renamed(name):
    def provoke(folder):
        write_job(folder / "list.yaml", {"members": [{"seed": 1}, {"seed": 2}], "steps": 1,
                                         "epochs": None})  # fmt: skip
        assert braid(folder, "train", "list.yaml", "--out", "jobs", "-q").code == 0
        path = folder / "jobs" / "jobs.json"
        jobs = json.loads(path.read_text())
        jobs["jobs"][1]["name"] = name.format(folder=folder)
        path.write_text(json.dumps(jobs))
        before = snapshot(folder)
        done = braid(folder, "resume", "jobs")
        assert snapshot(folder) == before
        return done

    return provoke


for bad in ["../escaped", "{folder}/escaped", "..", "", "array-0", "seed=1"]:
    case(f"e: jobs.json with the name {bad}", 1, r"\[resume\] 'jobs/jobs.json'", "name", "HINT")(
        renamed(bad)
    )


# --- f: output that cannot be written


def to_full_device(*args):
    def provoke(folder):
        with open("/dev/full", "w") as full:
            return braid(folder, *args, stdout=full)

    return provoke


for verb, args in {
    "train": TRAIN,
    "train -q": [*TRAIN, "-q"],
    "resume": ["resume", "run"],
    "validate": ["validate", "job.yaml"],
    "export": ["export", "run", "--to", "m.safetensors"],
    "inspect": ["inspect", "mlp"],
    "inspect, much": ["inspect", "resnet18", "--dump-after", "optimizer"],
    "help": ["--help"],
    "version": ["--version"],
}.items():
    case(f"f: {verb} to a full disk", 1, r"\[braid\] stdout cannot be written: No space", "HINT")(
        to_full_device(*args)
    )


@case("f: the training is whole all the same", 0, "")
def training_to_full_device(folder):
    assert to_full_device(*TRAIN)(folder).code == 1
    log = (folder / "new" / "log.txt").read_text()
    assert log.count("stdout cannot be written: No space left") == 1
    newest = "checkpoints/step-14/model.safetensors"
    assert (folder / "new" / newest).read_bytes() == (folder / "run" / newest).read_bytes()
    return Done(0)


@case("f: errors to a full disk", 2, "")
def errors_to_full_device(folder):
    with open("/dev/full", "w") as full:
        code = subprocess.run(
            [braid_bin(), "train", "none.yaml"], cwd=folder, stdout=full, stderr=full, check=False
        ).returncode
    return Done(code)


@case("f: stdout and stderr that are closed", 0, "")
def closed_streams(folder):
    code = subprocess.run(
        f"exec '{braid_bin()}' train job.yaml --out new --trace trace.json <&- >&- 2>&-",
        shell=True, cwd=folder, check=False,
    ).returncode  # fmt: skip
    assert json.loads((folder / "trace.json").read_text())  # and nothing else is in it
    assert "done" not in (folder / "new" / "config.yaml").read_text()
    return Done(code)


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


# --- h: data that changed between stop and resume


@case("h: other data behind the same name", 0, r"training data of .*table\.csv changed: ")
def other_data(folder):
    cut_to(folder / "run", 5)
    config = folder / "run" / "config.yaml"
    config.write_text(re.sub(r"file: .*table\.csv", f"file: {folder / 'table.csv'}",
                             config.read_text()))  # fmt: skip
    text = (folder / "table.csv").read_text()
    (folder / "table.csv").write_text(text.replace("0.143", "0.943"))
    done = braid(folder, "resume", "run")
    return Done(done.code, done.out + done.err)


# --- i: weights in a .pt2 whose checksum is wrong


class Plain(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 300)

    def forward(self, x, y):
        return F.cross_entropy(self.fc(x), y)


@case("i: a bit of a weight in a .pt2", 1, r"net\.pt2", r"(?i)checksum|crc|damaged")
def damaged_weight(folder):
    batch = {"x": torch.randn(8, 4), "y": torch.randint(0, 3, (8,))}
    path = export(folder / "net.pt2", Plain(), (batch["x"], batch["y"]))
    save(folder / "batch.safetensors", batch)
    with zipfile.ZipFile(path) as archive:
        weight = next(i for i in archive.infolist() if i.file_size == 4 * 300 * 4)
    content = bytearray(path.read_bytes())
    name_bytes, extra_bytes = struct.unpack_from("<HH", content, weight.header_offset + 26)
    content[weight.header_offset + 30 + name_bytes + extra_bytes + 100] ^= 1
    path.write_bytes(content)
    return braid(
        folder, "step", "net.pt2", "--inputs", "batch.safetensors", "--steps", 1,
        "--optimizer", "sgd", "--out", "out",
    )  # fmt: skip


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
        process = start(folder, *TRAIN, "-q")
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


# --- l: names that others wrote

NAMES = ["\x1b[31mred\x1b[2J", "long" * 750_000, "\x07", "ok"]


def write_strange(path, names):
    """As the library writes it; a header may have up to 100 MB."""
    header = {name: {"dtype": "F32", "shape": [0], "data_offsets": [0, 0]} for name in names}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text)


def no_terminal_codes(done):
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f]", done.out + done.err), done.err[:500]
    assert len(done.err) < 20_000
    return done


@case("l: tensors with strange names", 2, r"\[inputs\]", r"\\x1b\[31mred", "ok: not an input")
def strange_names(folder):
    write_strange(folder / "batch.safetensors", NAMES)
    return no_terminal_codes(braid(
        folder, "step", "mlp", "--inputs", "batch.safetensors", "--steps", 1,
        "--optimizer", "sgd", "--out", "out",
    ))  # fmt: skip


@case("l: a hundred thousand tensors", 2, r"\[inputs\]", "and 99,9[89][0-9] more", "HINT")
def many_names(folder):
    write_strange(folder / "batch.safetensors", [f"t{i}" for i in range(100_000)])
    return no_terminal_codes(braid(
        folder, "step", "mlp", "--inputs", "batch.safetensors", "--steps", 1,
        "--optimizer", "sgd", "--out", "out",
    ))  # fmt: skip


@case("l: initial weights with strange names", 2, r"\[init\]", r"\\x1b\[31mred", "not a tensor")
def strange_weights(folder):
    write_strange(folder / "init.safetensors", NAMES)
    write_job(folder / "job.yaml", {"init": {"file": "init.safetensors"}})
    return no_terminal_codes(braid(folder, *TRAIN))


@case("l: fields with strange names", 2, r"\[data\]", r"\\x1b\[31mred")
def strange_fields(folder):
    tensors = {name: torch.zeros(50, 4) for name in NAMES}
    save(folder / "data.safetensors", tensors)
    write_job(folder / "job.yaml", {"data": {"source": "safetensors", "file": "data.safetensors"}})
    return no_terminal_codes(braid(folder, *TRAIN))


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


# --- q: a link in a circle in place of a checkpoint


@case("q: a link in a circle at the newest checkpoint", 0, "step-99")
def checkpoint_in_a_circle(folder):
    cut_to(folder / "run", 5)
    (folder / "run" / "checkpoints" / "step-99").symlink_to("step-99")
    done = braid(folder, "resume", "run")
    assert "going on after step 5" in done.out
    return Done(done.code, done.out + done.err)


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


@pytest.fixture(name="world", scope="module")
def make_world(tmp_path_factory):
    """What every case gets a copy of."""
    folder = tmp_path_factory.mktemp("world")
    write_table(folder / "table.csv")
    write_job(folder / "job.yaml", EVERY_STEP)
    done = braid(folder, "train", "job.yaml", "--out", "run", "-q")
    assert done.code == 0, done
    return folder


@pytest.mark.parametrize("name", list(CASES))
def test_hostile(world, tmp_path, name):
    folder = tmp_path / "world"
    shutil.copytree(world, folder)
    row = CASES[name]
    done = row.provoke(folder)
    text = done.err or done.out
    assert done.code == row.code, f"{done.code}: {text[:2000]}"
    for word in row.words:
        assert re.search(word, text), f"no '{word}' in:\n{text[:2000]}"
    for word in (*row.absent, "terminate called", "Traceback", "Segmentation"):
        assert not re.search(word, text), text[:2000]
    assert not [p for p in Path(folder).rglob(".*")], "something was left behind"
