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
    folders = [path.parent for path in (tmp_path / "run").rglob("config.yaml")]
    assert len(folders) == (16 if name.startswith("sweep") else 1)
    for run in map(JobRun, folders):
        assert run.split("train")[-1]["step"] == 3
        assert bool(run.split("eval")) == (name != "dcgan")


def demo(folder, *words, steps=5):
    """The last line of the demo."""
    own = {"DEMO_OUT": str(folder), "DEMO_STEPS": str(steps), "BRAID_BIN": braid_bin()}
    done = subprocess.run(
        ["bash", ROOT / "scripts" / "demo.sh", *words],
        env=os.environ | own | {"PYTHON": sys.executable},
        capture_output=True, text=True, timeout=900, check=True,
    )  # fmt: skip
    return done.stdout.splitlines()[-1]


SPEEDS = r"16 models in (\d+) s; one after another: Braid (\d+) s .*, PyTorch eager (\d+) s .*"


def test_the_demo_ends_with_what_it_measured(tmp_path):
    line = demo(tmp_path / "demo", *FEW)
    assert re.search(SPEEDS + r"from 20 timed steps each on 1 threads$", line)
    assert not (tmp_path / "demo-alone").exists()
    runs = [JobRun(path.parent) for path in (tmp_path / "demo").glob("*/config.yaml")]
    assert len(runs) == 16
    assert {run.split("train")[-1]["step"] for run in runs} == {3}


def test_the_demo_compares_with_the_same_network(tmp_path):
    """PyTorch's takes the weights of Braid's."""
    words = [*FEW, "members="]
    run_braid("train", EXAMPLES / "sweep_lenet.yaml", "--out", tmp_path / "run", *words)
    sys.path.insert(0, str(ROOT / "scripts"))
    from demo import LeNet

    LeNet().load_state_dict(JobRun(tmp_path / "run").state())


@pytest.mark.skipif(not LONG, reason="minutes: BRAID_TEST_LONG=1")
def test_the_demo_learns_to_read(tmp_path):
    demo(tmp_path / "demo", steps=50)
    folders = [path.parent for path in (tmp_path / "demo").glob("*/config.yaml")]
    assert max(JobRun(folder).evaluation["accuracy"] for folder in folders) > 0.99
