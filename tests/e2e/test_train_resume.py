"""Killed or stopped at any moment, a run ends as if nothing had happened."""

import json
import os
import re
import shutil
import signal
import struct
import subprocess
import time

import pytest
from braid_run import run_braid
from tensorboard.backend.event_processing.event_file_loader import EventFileLoader
from train_jobs import kill_at_random_moments, start

LONG = bool(os.environ.get("BRAID_TEST_LONG"))
GLYPHS = {"source": "glyphs", "count": 44, "classes": 4}
TEST = {"source": "glyphs", "count": 20, "classes": 4, "part": "test"}

# Together they have all that a run must remember. Batches of 8 leave a rest of
# 4. A checkpoint after every step or two: many kills fall into writing one.
JOBS = {
    "averages": {
        "model": "vit(patch=8,width=8,heads=2,layers=1,dropout=0.2)",
        "data": GLYPHS | {"size": 16},
        "eval": {"data": TEST | {"size": 16}, "every": 4},
        "optimizer": {"kind": "adamw", "lr": 0.003},
        "schedule": "cosine(steps=30, warmup=5)",
        "accumulate": 2,
        "ema": 0.9,
        "clip": 1.0,
        "steps": 30,
        "checkpoint": {"every": 1, "best": "accuracy"},
    },
    "statistics": {
        "model": "resnet18(width=2)",
        "data": GLYPHS | {"size": 16, "augment": {"crop": 1, "flip": True}},
        "eval": {
            "data": TEST | {"size": 16},
            "every": 3,
            "early_stop": {"metric": "loss", "patience": 3, "min_delta": 0.01},
        },
        "optimizer": {"kind": "sgd", "lr": 0.05, "momentum": 0.9},
        "schedule": "plateau(factor=0.5, patience=4)",
        "steps": 60,
        "log_every": 4,
        "checkpoint": {"every": 2, "keep": 3},
    },
    "phases": {
        "data": {"source": "glyphs", "count": 44, "size": 16, "classes": 4},
        "inputs": {"y": "label"},
        "networks": {
            "generator": {
                "model": "dcgan_generator(latent=4,width=2,channels=1,side=16)",
                "optimizer": {"kind": "adam", "lr": 0.002},
                "schedule": "linear(steps=20)",
            },
            "critic": {
                "model": "dcgan_discriminator(width=2,channels=1,side=16)",
                "optimizer": {"kind": "adam", "lr": 0.002},
            },
        },
        "phases": [
            {
                "learns": "critic",
                "loss": "bce(critic(x), 1) + bce(critic(detach(generator(z))), 0)",
            },
            {"learns": "generator", "loss": "bce(critic(generator(z)), 1)", "every": 2},
        ],
        "noise": {"z": {"shape": [4, 1, 1]}},
        "ema": 0.8,
        "steps": 20,
        "checkpoint": {"every": 1},
    },
}


def write_job(path, name, **changes):
    job = {"batch_size": 8, "threads": 1, "seed": 3} | JOBS[name] | changes
    path.write_text("".join(f"{k}: {json.dumps(v)}\n" for k, v in job.items()))
    return path


def command(job, out):
    """What a person types next."""
    return ["resume", out] if (out / "config.yaml").exists() else ["train", job, "--out", out]


def without_times(text):
    return re.sub(r'"time_s":[^,}]*', "", text)


def scalars(out):
    """All numbers of the event files, which hold whole records only."""
    found = []
    for path in sorted(out.glob("events.out.tfevents.*")):
        content, at = path.read_bytes(), 0
        while at < len(content):
            at += 16 + struct.unpack_from("<Q", content, at)[0]
        assert at == len(content), f"{path.name} ends within a record"
        for event in EventFileLoader(str(path)).Load():
            for value in event.summary.value:
                found.append((event.step, value.tag, tuple(value.tensor.float_val)))
    return found


def results(out):
    """Everything that must not depend on kills."""
    content = {"metrics": without_times((out / "metrics.jsonl").read_text())}
    content["events"] = scalars(out)
    for path in sorted((out / "checkpoints").rglob("*")):
        name = str(path.relative_to(out))
        if path.suffix == ".safetensors":
            content[name] = path.read_bytes()
        elif path.name == "meta.json":
            content[name] = without_times(path.read_text())
    return content


def check_same(out, expected):
    found = results(out)
    assert list(found) == list(expected)
    different = [name for name in found if found[name] != expected[name]]
    assert not different
    assert not list(out.rglob(".*")), "what killed runs left is gone"


@pytest.fixture(scope="module")
def references(tmp_path_factory):
    """Of each job: its file, the results of an uninterrupted run, its duration."""
    made = {}

    def reference(name):
        if name not in made:
            folder = tmp_path_factory.mktemp(name)
            job = write_job(folder / "job.yaml", name)
            begun = time.monotonic()
            run_braid("train", job, "--out", folder / "whole")
            made[name] = (job, results(folder / "whole"), time.monotonic() - begun)
        return made[name]

    return reference


@pytest.mark.parametrize("name", JOBS)
def test_killed_at_random_moments(tmp_path, references, name):
    job, expected, whole_s = references(name)
    kill_at_random_moments(
        tmp_path, lambda out: command(job, out), lambda out: check_same(out, expected),
        whole_s, kills=67 if LONG else 4, seed=name,
    )  # fmt: skip


@pytest.mark.parametrize("name", JOBS)
def test_goes_on_from_any_checkpoint(tmp_path, name):
    """Also between the phases that run every other step, epochs and evaluations."""
    job = write_job(tmp_path / "job.yaml", name, checkpoint={"every": 1, "keep": 100})
    run_braid("train", job, "--out", tmp_path / "whole")
    expected = results(tmp_path / "whole")
    for step in range(1, 18) if LONG else (1, 9, 17):
        out = tmp_path / f"from-{step}"
        shutil.copytree(tmp_path / "whole", out)
        for path in (out / "checkpoints").iterdir():
            if int(path.name[5:]) > step:
                shutil.rmtree(path)
        assert f"going on after step {step}\n" in run_braid("resume", out).stdout
        check_same(out, expected)


def wait_for_checkpoint(process, out):
    while not list(out.glob("checkpoints/step-*")):
        assert process.poll() is None, process.communicate()[0]
        time.sleep(0.005)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_after_a_step_and_the_run_goes_on(tmp_path, references, number):
    job, expected, _ = references("averages")
    out = tmp_path / "out"
    process = start("train", job, "--out", out)
    wait_for_checkpoint(process, out)
    process.send_signal(number)
    text = process.communicate()[0]
    assert process.returncode == 130, text
    step = int(re.search(r"stopped after step (\d+) of 30", text)[1])
    assert f"HINT: 'braid resume {out}' goes on" in text
    assert (out / "checkpoints" / f"step-{step}" / "COMPLETE").exists()
    assert f"going on after step {step}\n" in run_braid("resume", out).stdout
    check_same(out, expected)


def test_a_second_signal_ends_at_once(tmp_path):
    """Even one of the other kind; the evaluation that runs is not waited for."""
    big = {"eval": {"data": TEST | {"size": 16, "count": 10**7}, "every": 1}}
    job = write_job(tmp_path / "job.yaml", "averages", log_every=1, **big)
    metrics = tmp_path / "out" / "metrics.jsonl"
    process = start("train", job, "--out", tmp_path / "out")
    # The first row tells that the step is done, after which it evaluates.
    while not metrics.exists() or not metrics.read_text():
        assert process.poll() is None, process.communicate()[0]
        time.sleep(0.005)
    process.send_signal(signal.SIGINT)
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(0.5)
    process.send_signal(signal.SIGTERM)
    assert process.wait(10) == -signal.SIGTERM
    process.communicate()


def test_killed_before_the_first_checkpoint_it_starts_over(tmp_path, references):
    job, expected, _ = references("averages")
    out = tmp_path / "out"
    late = write_job(tmp_path / "late.yaml", "averages", checkpoint={"every": 25})
    process = start("train", late, "--out", out)
    while not (out / "metrics.jsonl").exists():
        time.sleep(0.002)
    process.kill()
    process.communicate()
    assert not list(out.glob("checkpoints/step-*"))
    text = run_braid("resume", out).stdout
    assert "going on" not in text and "done   30 steps" in text
    last = "checkpoints/step-30/model.safetensors"
    assert results(out)[last] == expected[last]
    assert results(out)["metrics"] == expected["metrics"]


@pytest.mark.parametrize("name", ["statistics", "phases"])
def test_a_finished_run_is_left_alone(tmp_path, references, name):
    job, expected, _ = references(name)
    out = tmp_path / "out"
    run_braid("train", job, "--out", out)
    before = {p: p.read_bytes() for p in out.rglob("*") if p.is_file()}
    for args in (["resume", out], ["train", job, "--out", out, "--resume"]):
        text = run_braid(*args).stdout
        assert "steps were done before" in text and len(text.splitlines()) == 1
    assert {p: p.read_bytes() for p in out.rglob("*") if p.is_file()} == before
    check_same(out, expected)


def test_the_resume_flag_begins_or_goes_on(tmp_path, references):
    job, expected, _ = references("averages")
    out = tmp_path / "out"
    args = ["train", job, "--out", out, "--resume"]
    process = start(*args)
    wait_for_checkpoint(process, out)
    process.kill()
    process.communicate()
    assert "going on after step" in run_braid(*args).stdout
    check_same(out, expected)
    other = run_braid(*args, "seed=4", code=2).stderr
    assert other.startswith("[braid train]") and "another job" in other
    check_same(out, expected)


def test_a_damaged_checkpoint_is_named_and_the_one_before_is_taken(tmp_path, references):
    job, expected, _ = references("averages")
    out = tmp_path / "out"
    process = start("train", job, "--out", out)
    while len(list(out.glob("checkpoints/step-*"))) < 2:
        time.sleep(0.005)
    process.send_signal(signal.SIGINT)
    process.communicate()
    steps = sorted(int(p.name[5:]) for p in out.glob("checkpoints/step-*"))
    damaged = out / "checkpoints" / f"step-{steps[-1]}" / "state.safetensors"
    content = bytearray(damaged.read_bytes())
    content[-1] ^= 1
    damaged.write_bytes(content)
    text = run_braid("resume", out).stdout
    assert f"step-{steps[-1]}' is damaged" in text and "checksum" in text
    assert f"going on after step {steps[-2]}\n" in text
    check_same(out, expected)
