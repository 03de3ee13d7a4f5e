"""Braid in a process that uses torch: what either computes, and all that torch has
set, is as if the other were not there. Each case runs in a process of its own, since
what is looked at is the state of the process."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

HERE = Path(__file__).resolve().parent
STEPS = 6
MODELS = ["mlp", "lenet(batch=64)"]
DEVICES = [
    "cpu",
    pytest.param("cuda:0", marks=pytest.mark.skipif(
        not torch.cuda.is_available(), reason="there is no CUDA device here")),
]


def run_python(*args):
    done = subprocess.run(
        [sys.executable, *map(str, args)], capture_output=True, text=True, timeout=600,
        check=False, env={**os.environ, "PYTHONPATH": str(HERE)})
    assert done.returncode == 0, done.stdout + done.stderr


def in_host(device, *parts):
    """Runs functions of guest_host.py, one after the other, in one process."""
    run_python(HERE / "guest_host.py", device, *parts)


@pytest.fixture(scope="module", params=DEVICES)
def device(request):
    return request.param


@pytest.fixture(scope="module")
def alone(device, tmp_path_factory):
    """What Braid gives in a process without torch."""
    folder = tmp_path_factory.mktemp("alone")
    for i, model in enumerate(MODELS):
        run_python(HERE / "guest.py", model, device, 2, 1, STEPS, folder / str(i))
    return folder


@pytest.mark.parametrize("model", range(len(MODELS)), ids=MODELS)
@pytest.mark.parametrize("settings", ["plain", "changed", "modes"])
def test_braid_computes_as_alone(device, alone, model, settings):
    in_host(device, settings, "torch_trains", f"braid_equals:{MODELS[model]}:{alone / str(model)}")


def test_torch_computes_as_without_braid(device, tmp_path):
    parts = ["torch_trains", "PART", "torch_trains", "torch_draws"]
    results = []
    for between in ("nothing", "braid_trains", "braid_stays"):
        file = tmp_path / between
        in_host(device, "plain", *[between if p == "PART" else p for p in parts], f"write:{file}")
        results.append(file.read_bytes())
    assert results[0] == results[1] == results[2]


@pytest.mark.parametrize("settings", ["plain", "changed"])
def test_flags_and_threads_stay(device, settings):
    in_host(device, settings, "torch_trains", "flags_stay")


def test_memory_of_torch_is_its_own(device):
    in_host(device, "plain", "memory_stays")


def test_two_threads_of_the_process(device):
    in_host(device, "plain", "threads_beside")
