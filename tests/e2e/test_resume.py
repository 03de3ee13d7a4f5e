"""Killed at any moment, a checkpointed run ends as if nothing had happened."""

import json
import os
import random
import re
import signal
import subprocess
import time

import models
import pytest
from braid_run import braid_bin, run_braid, save, step_args

KILLS = 50 if os.environ.get("BRAID_TEST_LONG") else 10
SIZES = {"length": 16, "vocab": 24}
MODEL = "transformer(vocab=24,width=32,layers=2,dropout=0.1)"
STEPS, EVERY = 120, 6


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    path = tmp_path_factory.mktemp("inputs") / "x.safetensors"
    return save(path, models.batch("transformer", size=8, **SIZES))


def command(inputs, out, **options):
    defaults = {"checkpoint_every": EVERY, "threads": 1}
    values = {"lr": 1e-2, "clip_norm": 1.0}
    return step_args(MODEL, inputs, STEPS, "adamw", values, out, **(defaults | options))


def content(path):
    """What repeats, bit by bit: all but the bytes of the whole process."""
    if path.name != "memory.json":
        return path.read_bytes()
    memory = json.loads(path.read_text())
    assert memory.pop("process_peak_bytes") > 0 and memory.pop("measured_step_s") > 0
    return memory


def results(out):
    """Contents of the result files; memory.json too."""
    return {
        str(p.relative_to(out)): content(p)
        for p in sorted(out.rglob("*"))
        if p.is_file() and "checkpoints" not in p.relative_to(out).parts
    }


def start(args):
    return subprocess.Popen(
        [braid_bin(), *args], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )


def kill_after(args, seconds):
    """Whether the process was killed before its end."""
    process = start(args)
    time.sleep(seconds)
    process.send_signal(signal.SIGKILL)
    text = process.communicate()[0]
    assert process.returncode in (0, -signal.SIGKILL), text
    return process.returncode != 0


def survive_kills(inputs, folder, kills, **options):
    reference = folder / "reference"
    begun = time.monotonic()
    run_braid(*command(inputs, reference, **options))
    whole_s = time.monotonic() - begun
    expected = results(reference)
    generator = random.Random(2)
    done = trial = 0
    while done < kills:
        out = folder / f"trial-{trial}"
        trial += 1
        # Most runs are killed more than once before they may end.
        for _ in range(generator.choice([1, 2, 3])):
            done += kill_after(command(inputs, out, **options), generator.uniform(0.02, whole_s))
        run_braid(*command(inputs, out, **options))
        assert results(out) == expected
        assert len(list((out / "checkpoints").glob("step-*"))) == 2
        assert not list(out.rglob(".*")), "what killed runs left is gone"


def test_killed_at_random_moments(tmp_path, inputs):
    survive_kills(inputs, tmp_path, KILLS)


def test_killed_members(tmp_path, inputs):
    members = tmp_path / "members.yaml"
    members.write_text("- {seed: 1, lr: 1e-3}\n- {seed: 2, dropout: 0.4}\n")
    survive_kills(inputs, tmp_path, max(3, KILLS // 4), members=members, accumulate=2)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_after_a_step_and_the_run_goes_on(tmp_path, inputs, number):
    run_braid(*command(inputs, tmp_path / "reference"))
    out = tmp_path / "out"
    process = start(command(inputs, out))
    while not (out / "grads.safetensors").exists():
        assert process.poll() is None
        time.sleep(0.005)
    process.send_signal(number)
    text = process.communicate()[0]
    assert process.returncode == 130, text
    step = int(re.search(r"stopped after step (\d+) of", text)[1])
    assert f"step-{step}" in [p.name for p in (out / "checkpoints").iterdir()]
    assert not (out / "state.safetensors").exists()
    again = run_braid(*command(inputs, out))
    assert f"going on after step {step}" in again.stdout
    assert results(out) == results(tmp_path / "reference")


def test_a_signal_without_checkpoints_leaves_nothing_to_go_on_from(tmp_path, inputs):
    out = tmp_path / "out"
    args = command(inputs, out, checkpoint_every=0)
    args[args.index("--steps") + 1] = "1000000"
    process = start(args)
    while not (out / "grads.safetensors").exists():
        time.sleep(0.005)
    process.send_signal(signal.SIGINT)
    text = process.communicate()[0]
    assert process.returncode == 130
    assert "nothing was saved" in text
    assert not (out / "checkpoints").exists()


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"seed": 5}, "members/0/seed"),
        ({"accumulate": 2}, "accumulate"),
        ({"threads": 2}, "threads"),
        ({"model": MODEL.replace("width=32", "width=16")}, "model"),
        ({"lr": "0.5"}, "optimizer"),
        ({"inputs": "other"}, "inputs"),
        ({"members": "- {seed: 0}\n"}, "array"),
    ],
)
def test_other_arguments_on_the_same_directory_are_refused(tmp_path, inputs, change, word):
    out = tmp_path / "out"
    first = command(inputs, out)
    first[first.index("--steps") + 1] = "8"
    run_braid(*first)
    before = results(out)
    args = list(first)
    for key, value in change.items():
        if key == "model":
            args[1] = value
        elif key == "lr":
            args[args.index("lr=0.01")] = f"lr={value}"
        elif key == "inputs":
            other = models.batch("transformer", seed=1, size=8, **SIZES)
            args[args.index("--inputs") + 1] = str(save(tmp_path / "o.safetensors", other))
        elif key == "members":
            (tmp_path / "m.yaml").write_text(value)
            args += ["--members", str(tmp_path / "m.yaml")]
        elif f"--{key}" in args:
            args[args.index(f"--{key}") + 1] = str(value)
        else:
            args += [f"--{key}", str(value)]
    failed = run_braid(*args, code=2)
    assert failed.stderr.startswith("[resume] ") and word in failed.stderr
    assert results(out) == before


def test_a_finished_run_can_be_made_longer(tmp_path, inputs):
    """Steps, limit, plan and checkpoints may change; results stay the same."""
    run_braid(*command(inputs, tmp_path / "reference"))
    out = tmp_path / "out"
    short = command(inputs, out)
    short[short.index("--steps") + 1] = "20"
    run_braid(*short)
    (out / ".braid-tmp-1-0").write_text("what a killed run may leave")
    longer = command(inputs, out, memory_limit="1GiB", checkpoint_every=100)
    assert "going on after step 20" in run_braid(*longer).stdout
    assert not (out / ".braid-tmp-1-0").exists()
    for name in ("losses.json", "grads.safetensors", "state.safetensors"):
        assert (out / name).read_bytes() == (tmp_path / "reference" / name).read_bytes()
    shorter = run_braid(*short, code=2)
    assert shorter.stderr.startswith("[resume] ")


def test_two_runs_do_not_write_to_one_directory(tmp_path, inputs):
    out = tmp_path / "out"
    args = command(inputs, out, checkpoint_every=0)
    args[args.index("--steps") + 1] = "1000000"
    process = start(args)
    try:
        while not (out / "grads.safetensors").exists():
            time.sleep(0.005)
        second = run_braid(*command(inputs, out), code=1)
        assert second.stderr.startswith("[out] another run writes to")
    finally:
        process.kill()
        process.communicate()


def test_a_damaged_checkpoint_is_named_and_the_one_before_is_taken(tmp_path, inputs):
    run_braid(*command(inputs, tmp_path / "reference"))
    out = tmp_path / "out"
    short = command(inputs, out)
    short[short.index("--steps") + 1] = "18"
    run_braid(*short)
    damaged = out / "checkpoints" / "step-18" / "state.safetensors"
    content = bytearray(damaged.read_bytes())
    content[-1] ^= 1
    damaged.write_bytes(content)
    again = run_braid(*command(inputs, out))
    assert "going on after step 12" in again.stdout
    assert "step-18' is damaged" in again.stderr and "checksum" in again.stderr
    assert results(out) == results(tmp_path / "reference")
