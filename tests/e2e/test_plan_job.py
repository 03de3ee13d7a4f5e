"""`braid plan JOB.yaml`: every limit is kept, what is saved replays, patterns and
joins count, and what does not fit is told with the bytes that are missing.
"""

import json
import xml.etree.ElementTree as ElementTree

import pytest
import yaml
from braid_run import run_braid
from job_run import JobRun, bits

JOB = {
    "model": "transformer(length=16,vocab=15,width=32,heads=2,layers=6,dropout=0.1)",
    "data": {"source": "arithmetic", "digits": 3, "count": 61, "length": 16},
    "optimizer": {"kind": "adamw", "lr": 0.01},
    "batch_size": 9,
    "steps": 5,
    "threads": 1,
    "checkpoint": {"every": 5},
}


def write(folder, name="job.yaml", **changes):
    path = folder / name
    path.write_text(yaml.safe_dump(JOB | changes))
    return path


def answer(path, *options):
    return json.loads(run_braid("plan", path, "--json", *options).stdout)


def need(path):
    return answer(path)["predicted"]["bytes"]


def test_less_memory_takes_more_time_and_every_limit_is_kept(tmp_path):
    job = write(tmp_path)
    most = need(job)
    before = 0
    for percent in (100, 99, 80, 60, 45):
        limit = most * percent // 100
        plan = answer(job, "--memory-limit", str(limit))
        assert plan["feasible"] and plan["predicted"]["bytes"] <= limit
        assert plan["predicted"]["seconds"] >= before * 0.98
        before = max(before, plan["predicted"]["seconds"])
        saving = [s for s in plan["segments"] if s["decision"] != "keep,resident,device"]
        assert bool(saving) == (percent < 100)
        assert all(s["why"] for s in plan["segments"])
    front = plan["front"]
    assert [p["bytes"] for p in front] == sorted(p["bytes"] for p in front)
    assert [p["seconds"] for p in front] == sorted((p["seconds"] for p in front), reverse=True)


def test_what_does_not_fit_is_told_with_the_missing_bytes(tmp_path):
    job = write(tmp_path)
    result = run_braid("plan", job, "--memory-limit", "10KiB", code=1)
    assert "bytes are missing" in result.stderr and "HINT" in result.stderr
    least = answer(job)["least_bytes"]
    assert answer(job, "--memory-limit", str(least))["feasible"]


def test_a_saved_plan_replays_and_no_bit_changes(tmp_path):
    job = write(tmp_path)
    limit = need(job) * 6 // 10
    saved, svg, dot = tmp_path / "plan.yaml", tmp_path / "front.svg", tmp_path / "plan.dot"
    files = ("--save", saved, "--svg", svg, "--dot", dot)
    plan = answer(job, "--memory-limit", str(limit), *files)
    assert ElementTree.parse(svg).getroot().tag.endswith("svg")
    assert dot.read_text().startswith("digraph")
    again = answer(job, f"plan={saved}")
    assert again["predicted"] == plan["predicted"] and again["depth"] == plan["depth"]
    assert [s["decision"] for s in again["segments"]] == [
        s["decision"] for s in plan["segments"]
    ]
    runs = {}
    for name, values in {
        "free": [],
        "chosen": [f"memory_limit={limit}"],
        "replayed": [f"memory_limit={limit}", f"plan={saved}"],
    }.items():
        out = tmp_path / name
        result = run_braid("train", job, *values, "--out", out)
        assert ("more time than without a limit" in result.stdout) == (name == "chosen")
        runs[name] = bits(JobRun(out))
    assert runs["free"] == runs["chosen"] == runs["replayed"]


def test_patterns_cut_and_joins_join(tmp_path):
    plan = {
        "join": ["blocks.0, blocks.1"],
        "segments": {"blocks.*.fc*": "recompute", "blocks.4": "offload,spilled"},
    }
    found = {s["name"]: s for s in answer(write(tmp_path, plan=plan))["segments"]}
    assert "blocks.0" in found and "blocks.1" not in found
    cut = [name for name in found if name.startswith("blocks.5.fc")]
    assert cut and all(found[n]["decision"] == "recompute,resident,device" for n in cut)
    assert found["blocks.4"]["decision"] == "offload,spilled,device"
    assert found["blocks.4"]["why"] == "given by hand"
    wrong = run_braid("plan", write(tmp_path, plan={"join": ["blocks.0, blocks.2"]}), code=2)
    assert "do not follow each other" in wrong.stderr


@pytest.mark.parametrize(
    "options, words",
    [
        ([], ["expected a job file, or --instance"]),
        (["job.yaml", "--instance", "a.json"], ["expected a job file, or --instance"]),
        (["job.yaml", "--solver", "best"], ["plan.solver", "certified"]),
        (["job.yaml", "--memory-limit", "much"], ["memory_limit"]),
        (["job.yaml", "--seed", "3"], ["--instance"]),
    ],
)
def test_wrong_usage_is_told(tmp_path, options, words):
    write(tmp_path)
    result = run_braid("plan", *options, code=2, cwd=tmp_path)
    assert all(word in result.stderr for word in words), result.stderr


def test_host_memory_has_a_limit(tmp_path):
    job = write(tmp_path)
    limit = str(need(job) * 55 // 100)
    plan = answer(job, "--memory-limit", limit, "--host-limit", "0")
    assert plan["predicted"]["host_bytes"] == 0
    spilled = write(tmp_path, "spilled.yaml", plan={"segments": {"blocks.1": "spilled"}})
    for verb in (["plan"], ["train", "--out", tmp_path / "run"]):
        words = [*verb, spilled, f"memory_limit={limit}", "host_limit=0"]
        result = run_braid(*words, code=1)
        assert "host" in result.stderr and not (tmp_path / "run").exists()
    # With a folder for a file both limits can be small.
    few = ["--host-limit", "300KiB", f"spill_dir={tmp_path}"]
    plan = answer(job, "--memory-limit", str(need(job) * 3 // 10), *few)
    assert plan["predicted"]["host_bytes"] <= 300 << 10
    assert any("file" in s["decision"] for s in plan["segments"])
