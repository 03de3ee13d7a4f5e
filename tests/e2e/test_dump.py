"""`braid inspect JOB` shows exactly what `braid train JOB` runs, pass by pass."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from braid_run import braid_bin, run_braid

ROOT = Path(__file__).resolve().parents[2]
PASSES = (
    "forward guard loss_scale mask sink_relu array precision autodiff accumulate optimizer "
    "epilogues layout fusion program"
).split()


@pytest.fixture(scope="module")
def jobs(tmp_path_factory):
    """The example jobs that need nothing from outside, and one of many values."""
    folder = tmp_path_factory.mktemp("jobs")
    for name in ("glyphs_lenet", "solids_pointnet", "dcgan", "text_lm", "sweep_lenet"):
        shutil.copy(ROOT / "examples" / f"{name}.yaml", folder)
    shutil.copy(ROOT / "examples/sonnets.txt", folder)
    (folder / "mixed.yaml").write_text(
        "model: lenet(dropout=0.2)\n"
        "data: {source: glyphs, count: 103, seed: 3}\n"
        "batch_size: 24\naccumulate: 3\nepochs: 1\nprecision: bf16\non_nan: skip\n"
        "optimizer: {kind: sgd, lr: 0.1, momentum: 0.9, loss_scale: 16}\n"
        "eval: {data: {source: glyphs, count: 31, part: test}}\n"
        "members: [{seed: 1}, {seed: 2, schedule: plateau}, {seed: 3, optimizer.lr: 0.2}]\n"
    )
    return folder


def names():
    return ["glyphs_lenet", "solids_pointnet", "dcgan", "text_lm", "sweep_lenet", "mixed"]


def dump(verb, job, name, *more):
    """Whether there is such a pass or not."""
    command = [braid_bin(), verb, str(job), "--dump-after", name, *map(str, more)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


def some_passes(name):
    """All of them in the long form; else three, other ones for each job and seed."""
    if os.environ.get("BRAID_TEST_LONG"):
        return PASSES
    first = names().index(name) + int(os.environ.get("BRAID_TEST_SEED", "0"))
    return [PASSES[(first + 5 * i) % len(PASSES)] for i in range(2)] + ["program"]


@pytest.mark.parametrize("name", names())
def test_train_and_inspect_dump_the_same_bytes(jobs, name):
    job = jobs / f"{name}.yaml"
    for wanted in some_passes(name):
        of_train, of_inspect = (dump(verb, job, wanted) for verb in ("train", "inspect"))
        assert of_train.stdout == of_inspect.stdout
        assert of_train.returncode == of_inspect.returncode
        if of_train.returncode == 0:
            form = "braid-program 1" if wanted == "program" else "braid-graph 1"
            assert form in of_train.stdout
        else:
            assert f"no program here has a pass '{wanted}'" in of_train.stderr

def hashes(text):
    return re.findall(r"pass   (.*: \w+ [0-9a-f]{16}),", text)


@pytest.mark.parametrize("name", names())
def test_a_training_runs_what_inspect_shows(jobs, tmp_path, name):
    job = jobs / f"{name}.yaml"
    few = [] if name == "mixed" else ["steps=2"]
    shown = hashes(run_braid("inspect", job, "-v", *few).stdout)
    trained = run_braid("train", job, "-v", "--out", tmp_path / "run", *few)
    assert trained.returncode == 0, trained.stderr
    assert len(shown) > 10
    assert hashes(trained.stdout + trained.stderr) == shown


def test_an_unknown_pass_is_named(jobs):
    for verb in ("train", "inspect"):
        result = dump(verb, jobs / "mixed.yaml", "optimiser")
        assert result.returncode == 2
        assert "did you mean 'optimizer'?" in result.stderr
        assert result.stdout == ""


def test_a_dump_writes_no_files(jobs, tmp_path):
    before = sorted(path.name for path in jobs.iterdir())
    assert dump("train", jobs / "mixed.yaml", "layout", "--out", tmp_path / "none").returncode == 0
    assert not (tmp_path / "none").exists()
    assert sorted(path.name for path in jobs.iterdir()) == before


def test_inspect_of_a_job_lists_its_programs(jobs):
    text = run_braid("inspect", jobs / "mixed.yaml").stdout
    assert "array  3 jobs" in text
    for program in ("step of 24 rows", "step of 7 rows", "evaluation of 24 rows"):
        assert program in text
