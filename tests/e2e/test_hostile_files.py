"""Files and output of a hostile or clumsy world, as a table: how to provoke what once
misled, stopped or crashed, the exit code and the words to expect."""

import json
import os
import re
import shutil
import signal
import struct
import subprocess
import threading
import zipfile

import pytest
import torch
from braid_run import braid_bin, save
from hostile import (
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
from torch import nn
from torch.nn import functional as F
from train_jobs import snapshot, write_job

case = Cases()


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


# --- q: a link in a circle in place of a checkpoint


@case("q: a link in a circle at the newest checkpoint", 0, "step-99")
def checkpoint_in_a_circle(folder):
    cut_to(folder / "run", 5)
    (folder / "run" / "checkpoints" / "step-99").symlink_to("step-99")
    done = braid(folder, "resume", "run")
    assert "going on after step 5" in done.out
    return Done(done.code, done.out + done.err)


@pytest.mark.parametrize("name", list(case))
def test_hostile(world, tmp_path, name):
    shutil.copytree(world, tmp_path / "world")
    check_case(case[name], tmp_path / "world")
