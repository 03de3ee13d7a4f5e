"""`cmake --install`, then the examples as a project from elsewhere."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("BRAID_BIN", ROOT / "build" / "braid")).parent

needs_build = pytest.mark.skipif(
    not (BUILD / "CMakeCache.txt").exists(), reason="there is no build to install")


def run(*command, cwd):
    done = subprocess.run(list(map(str, command)), cwd=cwd, capture_output=True, text=True,
                          check=False)
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    return done.stdout


def numbers(text):
    """accuracy 0.5 -> {accuracy: 0.5}"""
    return {name: float(value) for name, value in map(str.split, text.splitlines())}


@needs_build
@pytest.mark.parametrize("name", ["train_glyphs", "custom_loss"])
def test_examples_run(tmp_path, name):
    results = numbers(run(BUILD / "examples" / name, 3, cwd=tmp_path))
    assert results["loss"] > 0
    assert 0 <= results["accuracy"] <= 1


@needs_build
def test_the_loss_of_the_example_is_learnt(tmp_path):
    assert numbers(run(BUILD / "examples" / "custom_loss", cwd=tmp_path))["accuracy"] > 0.95


@needs_build
def test_members_come_and_go(tmp_path):
    """The one that was replaced is not there; the one that was split goes on."""
    losses = numbers(run(BUILD / "examples" / "live_array", cwd=tmp_path))
    assert list(losses) == ["member-3", "member-1", "member-2", "alone"]
    assert losses["alone"] < 0.5


@needs_build
def test_a_policy_of_ones_own(tmp_path):
    late = numbers(run(BUILD / "examples" / "own_policy", cwd=tmp_path))
    assert list(late) == ["least_slack", "deadline", "fifo"]
    assert late["least_slack"] < late["deadline"] < late["fifo"]


@pytest.fixture
def prefix(tmp_path):
    run("cmake", "--install", BUILD, "--prefix", tmp_path / "prefix", cwd=tmp_path)
    return tmp_path / "prefix"


@needs_build
def test_what_is_installed(prefix):
    assert (prefix / "include" / "braid" / "braid.h").exists()
    assert (prefix / "include" / "braid" / "version.h").exists()
    assert not (prefix / "include" / "braid" / "cli").exists()
    assert "braid 0." in run(prefix / "bin" / "braid", "--version", cwd=prefix)
    text = "".join(p.read_text() for p in prefix.glob("lib*/**/cmake/braid/*.cmake"))
    assert "braid::braid" in text
    assert f"{ROOT}/src" not in text


@needs_build
def test_find_package_from_elsewhere(tmp_path, prefix):
    shutil.copytree(ROOT / "examples", tmp_path / "app")
    run("cmake", "-S", "app", "-B", "out", f"-DCMAKE_PREFIX_PATH={prefix}",
        "-DCMAKE_BUILD_TYPE=Debug", cwd=tmp_path)
    run("cmake", "--build", "out", cwd=tmp_path)
    results = numbers(run(tmp_path / "out" / "train_glyphs", 3, cwd=tmp_path))
    assert results["loss"] > 0
    assert (tmp_path / "glyphs.safetensors").exists()
