"""The byte limit is a promise, and memory techniques change no bit."""

import json
import random
import re

import models
import pytest
from braid_run import run_braid, run_step, save, step_args

MODELS = {
    "mlp": ("mlp(hidden=64,layers=3)", {"features": 16}),
    "lenet": ("lenet", {"side": 16}),
    "resblock": ("resblock(channels=8)", {"side": 8}),
    "transformer": ("transformer(width=32,vocab=20)", {"length": 16, "vocab": 20}),
}
SEGMENTS = {
    "mlp": ["layers.0", "layers.1", "layers.2", "head"],
    "lenet": ["conv1", "conv2", "fc1", "fc2", "fc3"],
    "resblock": ["stem", "stem_bn", "blocks.0", "blocks.1", "head"],
    "transformer": ["tok", "blocks.0", "blocks.1", "ln", "head"],
}
RECOMPUTE = "depth: 0\nsegments: {default: recompute}\n"
STEPS = 3


def setting(folder, name):
    """Model text and inputs file."""
    text, sizes = MODELS[name]
    return text, save(folder / "x.safetensors", models.batch(name, size=16, **sizes))


def snapshot(folder):
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def random_plan(generator, segments):
    words = [
        ["keep", "recompute", "offload"],
        ["resident", "spilled", "file"],
        ["device", "host", "host_file", "host_ahead"],
    ]
    lines = [
        f"depth: {generator.choice([0, 1, 2])}",
        f"order: {generator.choice(['micro_batches', 'layers'])}",
        f"buffer: {generator.choice(['0', '2KiB', '1GiB'])}",
        "segments:",
    ]
    for name in segments:
        lines.append(f"  {name}: {','.join(generator.choice(w) for w in words)}")
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("name", MODELS)
def test_one_byte_too_few_is_reported_and_harms_nothing(tmp_path, name):
    text, inputs = setting(tmp_path, name)
    plan = tmp_path / "plan.yaml"
    plan.write_text(RECOMPUTE)
    out = tmp_path / "out"
    args = (text, inputs, STEPS, "adamw", {}, out)
    before = run_step(*args, plan=plan)
    needed = before.memory["predicted_peak_bytes"]
    files = snapshot(out)
    failed = run_braid(*step_args(*args, plan=plan, memory_limit=needed - 1), code=1)
    assert failed.stderr.startswith("[memory] ")
    assert f"needs {needed} bytes" in failed.stderr
    assert f"{needed - 1} bytes" in failed.stderr
    assert "1 bytes short" in failed.stderr
    assert "by layer" in failed.stderr
    layers = re.findall(r"^ +\d+  ([\w.]+)$", failed.stderr, re.MULTILINE)
    assert any(layer.startswith(tuple(SEGMENTS[name])) for layer in layers), failed.stderr
    assert "HINT:" in failed.stderr
    assert snapshot(out) == files
    again = run_step(*args, plan=plan, memory_limit=needed)
    process = again.memory.pop("process_peak_bytes")  # libraries and all
    assert process > needed
    assert again.memory.pop("predicted_step_s") > 0 and again.memory.pop("measured_step_s") > 0
    assert again.memory == {
        "limit_bytes": needed,
        "host_limit_bytes": None,
        "predicted_host_bytes": again.memory["predicted_host_bytes"],
        "predicted_peak_bytes": needed,
        "measured_peak_bytes": needed,
    }
    assert again.raw() == before.raw()


def test_a_run_that_cannot_fit_creates_nothing(tmp_path):
    text, inputs = setting(tmp_path, "mlp")
    out = tmp_path / "out"
    args = step_args(text, inputs, STEPS, "sgd", {}, out, memory_limit="1KiB")
    failed = run_braid(*args, code=1)
    assert "bytes short" in failed.stderr
    assert not out.exists()


@pytest.mark.parametrize("name", MODELS)
def test_a_limit_is_kept_without_a_plan(tmp_path, name):
    text, inputs = setting(tmp_path, name)
    args = (text, inputs, STEPS, "adamw", {})
    free = run_step(*args, tmp_path / "free")
    assert free.memory["limit_bytes"] is None
    assert free.memory["predicted_peak_bytes"] == free.memory["measured_peak_bytes"]
    limit = int(0.8 * free.memory["measured_peak_bytes"])
    tight = run_step(*args, tmp_path / "tight", memory_limit=limit)
    assert tight.memory["limit_bytes"] == limit
    assert tight.memory["measured_peak_bytes"] <= limit
    assert tight.memory["predicted_peak_bytes"] == tight.memory["measured_peak_bytes"]
    assert tight.raw() == free.raw()


@pytest.mark.parametrize("accumulate", [1, 2])
@pytest.mark.parametrize("name", MODELS)
def test_forced_plans_change_no_bit(tmp_path, name, accumulate):
    text, inputs = setting(tmp_path, name)
    args = (text, inputs, STEPS, "adamw", {"clip_norm": 1.0})
    options = {"accumulate": accumulate, "spill_dir": tmp_path}
    expected = run_step(*args, tmp_path / "free", **options).raw()
    generator = random.Random(f"{name} {accumulate}")
    plan = tmp_path / "plan.yaml"
    for trial in range(4):
        plan.write_text(random_plan(generator, SEGMENTS[name]))
        got = run_step(*args, tmp_path / f"plan-{trial}", plan=plan, **options)
        assert got.raw() == expected, plan.read_text()
        assert got.memory["predicted_peak_bytes"] == got.memory["measured_peak_bytes"]


def test_members_keep_a_limit_too(tmp_path):
    text, inputs = setting(tmp_path, "transformer")
    members = tmp_path / "members.yaml"
    members.write_text("- {seed: 1, lr: 1e-3}\n- {seed: 2, lr: 1e-2}\n- {seed: 3}\n")
    args = (text, inputs, STEPS, "adamw", {})
    run_braid(*step_args(*args, tmp_path / "free", members=members))
    free = snapshot(tmp_path / "free")
    peak = json.loads(free["member-0/memory.json"])["measured_peak_bytes"]
    limit = int(0.7 * peak)
    run_braid(*step_args(*args, tmp_path / "tight", members=members, memory_limit=limit))
    tight = snapshot(tmp_path / "tight")
    assert free.keys() == tight.keys()
    for name, content in free.items():
        assert name.endswith("memory.json") or tight[name] == content, name
