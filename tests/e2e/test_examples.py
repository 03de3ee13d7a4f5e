"""Every example trains; a few steps are enough to know."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from braid_run import braid_bin, run_braid
from exporting import export
from job_run import JobRun

ROOT = Path(__file__).resolve().parent.parent.parent
EXAMPLES = ROOT / "examples"
LONG = bool(os.environ.get("BRAID_TEST_LONG"))
FEW = ["steps=3", "eval.limit=64", "data.limit=256", "threads=1"]


@pytest.fixture(name="exported", scope="module")
def export_net(tmp_path_factory):
    """What the comment in pt2_job.yaml tells to do."""
    sys.path.insert(0, str(EXAMPLES))
    import net

    file = tmp_path_factory.mktemp("net") / "net.pt2"
    export(net.Net(), {"images": torch.randn(8, 1, 28, 28)}, file, dynamic=[0])
    return file


@pytest.mark.parametrize("name", sorted(p.stem for p in EXAMPLES.glob("*.yaml")))
def test_an_example_trains(tmp_path, name, request):
    words = list(FEW)
    if name == "dcgan":  # which has nothing to evaluate
        words.remove("eval.limit=64")
    if name == "pt2_job":
        words.append(f"model={request.getfixturevalue('exported')}")
    job = EXAMPLES / f"{name}.yaml"
    assert "ok" in run_braid("validate", job, *words).stdout
    run_braid("train", job, "--out", tmp_path / "run", *words)
    run = JobRun(tmp_path / "run")
    assert run.split("train")[-1]["step"] == 3
    assert bool(run.split("eval")) == (name != "dcgan")


def demo(folder, *words):
    """The last line of the demo."""
    done = subprocess.run(
        ["bash", ROOT / "scripts" / "demo.sh", *words],
        env=os.environ | {"DEMO_OUT": str(folder), "BRAID_BIN": braid_bin()},
        capture_output=True, text=True, timeout=600, check=True,
    )  # fmt: skip
    return done.stdout.splitlines()[-1]


def test_the_demo_ends_with_its_accuracy(tmp_path):
    line = demo(tmp_path / "demo", *FEW)
    accuracy = JobRun(tmp_path / "demo").evaluation["accuracy"]
    assert re.search(r"accuracy ([\d.]+) ", line)[1] == str(accuracy)
    assert line.endswith(str(tmp_path / "demo"))


@pytest.mark.skipif(not LONG, reason="half a minute: BRAID_TEST_LONG=1")
def test_the_demo_learns_to_read(tmp_path):
    demo(tmp_path / "demo")
    assert JobRun(tmp_path / "demo").evaluation["accuracy"] > 0.99
