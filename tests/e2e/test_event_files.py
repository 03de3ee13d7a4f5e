"""TensorBoard reads our event files: tags, steps and values."""

import math
import os
import struct
import subprocess
from pathlib import Path

from braid_run import braid_bin
from tensorboard.backend.event_processing import event_accumulator

WRITER = Path(braid_bin()).parent / "tests" / "event_writer"
SINGLE = [0.1, 1e-5, 1 / 3, -7.5, 16777217.0, 3e38, math.inf, -math.inf, 1e-45]


def write(folder, *commands):
    subprocess.run([WRITER, folder], input="\n".join(commands), text=True, check=True, timeout=60)


def read(folder):
    """{tag: [(step, value), ...]}"""
    events = event_accumulator.EventAccumulator(str(folder), size_guidance={"scalars": 0})
    events.Reload()
    tags = events.Tags()["scalars"]
    return {tag: [(e.step, e.value) for e in events.Scalars(tag)] for tag in tags}


def as_single(value):
    return struct.unpack("<f", struct.pack("<f", value))[0]


def losses(steps):
    return [f"add {step} loss={step / 8} lr={step / 1024}" for step in steps]


def test_values_are_read_exactly(tmp_path):
    write(tmp_path, "start 0", *(f"add {i} x/y={v!r}" for i, v in enumerate(SINGLE)))
    assert read(tmp_path) == {"x/y": [(i, as_single(v)) for i, v in enumerate(SINGLE)]}


def test_value_that_is_no_number(tmp_path):
    write(tmp_path, "start 0", "add 3 loss=nan")
    [(step, value)] = read(tmp_path)["loss"]
    assert step == 3 and math.isnan(value)


def test_steps_and_tags(tmp_path):
    write(tmp_path, "start 0", *losses([1, 127, 128, 2**33]))
    steps = [1, 127, 128, 2**33]
    assert read(tmp_path) == {
        "loss": [(step, as_single(step / 8)) for step in steps],
        "lr": [(step, as_single(step / 1024)) for step in steps],
    }


def test_run_that_goes_on(tmp_path):
    write(tmp_path, "start 0", *losses(range(1, 30)))
    write(tmp_path, "cut 12", "start 13", *losses(range(13, 20)))
    assert [step for step, _ in read(tmp_path)["loss"]] == list(range(1, 20))
    assert len(list(tmp_path.iterdir())) == 2


def test_killed_inside_a_record(tmp_path):
    write(tmp_path, "start 0", *losses(range(1, 30)))
    [path] = tmp_path.iterdir()
    os.truncate(path, path.stat().st_size - 7)
    write(tmp_path, "cut 1000", "start 29", *losses([29]))
    assert [step for step, _ in read(tmp_path)["loss"]] == list(range(1, 30))


def test_watcher_forgets_the_steps_that_were_cut(tmp_path):
    """A TensorBoard that saw steps 13 to 29 before the cut shows the new ones."""
    write(tmp_path, "start 0", *(f"add {step} loss=1" for step in range(1, 30)))
    events = event_accumulator.EventAccumulator(str(tmp_path), size_guidance={"scalars": 0})
    events.Reload()
    assert len(events.Scalars("loss")) == 29
    write(tmp_path, "cut 12", "start 13", *(f"add {step} loss=2" for step in range(13, 16)))
    events.Reload()
    seen = [(e.step, e.value) for e in events.Scalars("loss")]
    assert seen == [(step, 1 if step < 13 else 2) for step in range(1, 16)]
