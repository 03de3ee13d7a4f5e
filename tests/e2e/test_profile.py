"""What was measured, in one file that every verb reads: it decides how memory is saved and
never what comes out."""

import json

import pytest
import torch
from braid_run import run_braid

JOB = """
model: transformer(length=12,vocab=15,width=32,heads=2,layers=4)
data: {source: arithmetic, length: 12, count: 200}
optimizer: adamw
batch_size: 16
steps: 4
seed: 3
"""


@pytest.fixture
def job(tmp_path):
    path = tmp_path / "job.yaml"
    path.write_text(JOB)
    return path


def plan(job, profile, *words):
    return json.loads(run_braid("plan", job, "--profile", profile, "--json", *words).stdout)


def weights(folder):
    newest = sorted((folder / "checkpoints").iterdir())[-1]
    return {file.name: file.read_bytes() for file in newest.glob("*.safetensors")}


def test_what_is_missing_is_measured_once(tmp_path, job):
    profile = tmp_path / "p.json"
    first = run_braid("plan", job, "--profile", profile).stdout
    assert "calls were measured in" in first
    before = profile.read_bytes()
    again = run_braid("plan", job, "--profile", profile).stdout
    assert "measured" not in again
    assert profile.read_bytes() == before
    assert again in first
    numbers = json.loads(before)
    assert numbers["version"] == 2 and len(numbers["calls"]) > 20
    assert all(seconds >= 0 for seconds in numbers["calls"].values())


def test_predictions_are_those_of_the_profile(tmp_path, job):
    profile = tmp_path / "p.json"
    before = plan(job, profile)["predicted"]
    numbers = json.loads(profile.read_text())
    numbers["calls"] = {key: 10 * seconds for key, seconds in numbers["calls"].items()}
    numbers["devices"]["cpu"]["call_s"] *= 10
    profile.write_text(json.dumps(numbers))
    after = plan(job, profile)["predicted"]
    assert after["seconds"] == pytest.approx(10 * before["seconds"])
    assert after["bytes"] == before["bytes"]


def test_a_profile_changes_no_bit(tmp_path, job):
    limit = plan(job, tmp_path / "none.json")["keeping_all"]["bytes"] * 6 // 10
    for name, words in {"plain": [], "measured": ["--profile", tmp_path / "p.json"]}.items():
        run_braid("train", job, f"memory_limit={limit}", "--out", tmp_path / name, "-q", *words)
    assert weights(tmp_path / "plain") == weights(tmp_path / "measured")
    assert "calls" in json.loads((tmp_path / "p.json").read_text())


def test_arrays_within_a_limit_are_measured_too(tmp_path, job):
    limit = 3 * plan(job, tmp_path / "none.json")["keeping_all"]["bytes"]
    lists = tmp_path / "list.yaml"
    lists.write_text(JOB + f"memory_limit: {limit}\nmembers:\n- {{seed: 1}}\n- {{seed: 2}}\n")
    profile = tmp_path / "p.json"
    run_braid("train", lists, "--out", tmp_path / "runs", "--profile", profile, "-q")
    numbers = json.loads(profile.read_text())
    assert numbers["arrays"] and numbers["calls"]


def test_files_of_the_first_form_are_read(tmp_path, job):
    profile = tmp_path / "p.json"
    key = "array step 0123456789abcdef members=4"
    profile.write_text(json.dumps({"seconds": {key: 0.5}}))
    plan(job, profile)
    assert json.loads(profile.read_text())["arrays"] == {key: 0.5}


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device here")
def test_a_device_that_is_not_here_is_planned_for(tmp_path, job):
    profile = tmp_path / "p.json"
    here = plan(job, profile)
    missing = run_braid("plan", job, "device=cuda", "--profile", profile, code=2)
    assert "the profile knows none" in missing.stderr and "HINT" in missing.stderr
    numbers = json.loads(profile.read_text())
    card = dict(numbers["devices"]["cpu"], bytes=here["least_bytes"] * 2, shares_cores=False)
    numbers["devices"]["cuda"] = card
    profile.write_text(json.dumps(numbers))
    there = plan(job, profile, "device=cuda")
    assert there["feasible"]
    assert there["predicted"]["bytes"] <= card["bytes"]
    before = profile.read_text()
    assert json.loads(before) == numbers


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[]", "cannot be read"),
        ('{"version": 9}', "is of form 9"),
        ('{"version": 2, "call": {}}', "unknown section 'call'"),
        ('{"version": 2, "calls": {"a": -1}}', "expected a number from 0 for 'a', got -1"),
        ('{"version": 2, "devices": {"tpu": {}}}', "unknown kind of device 'tpu'"),
    ],
)
def test_broken_files_are_told(tmp_path, job, text, says):
    profile = tmp_path / "p.json"
    profile.write_text(text)
    for words in (["plan", job], ["bench", "links"], ["train", job, "--out", tmp_path / "r"]):
        result = run_braid(*words, "--profile", profile, code=1)
        assert says in result.stderr, words
        assert profile.read_text() == text


def test_links_are_measured_and_kept(tmp_path):
    profile = tmp_path / "p.json"
    words = ["bench", "links", "--memory-limit", "8MiB", "--threads", "1"]
    rates = json.loads(
        run_braid(*words, "--spill-dir", tmp_path, "--profile", profile, "--json").stdout
    )
    assert rates["device"] == "cpu"
    assert all(value > 0 for key, value in rates.items() if key.endswith("_per_s"))
    kept = json.loads(profile.read_text())["devices"]["cpu"]
    assert {key: kept[key] for key in rates if key != "device"} == {
        key: value for key, value in rates.items() if key != "device"
    }
    assert [p.name for p in tmp_path.iterdir()] == ["p.json"]
    table = run_braid(*words, "--device", "cpu:1").stdout
    assert "cpu:1" in table and "host to device" in table and "GB/s" in table
