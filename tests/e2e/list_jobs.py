"""Lists of jobs that train in a moment, and the same jobs one by one."""

import json
import re

from braid_run import run_braid
from job_run import JobRun

# Batches of 8 leave a rest of 4.
BASE = {
    "model": "lenet(side=14)",
    "data": {"source": "glyphs", "count": 44, "size": 14, "classes": 4},
    "eval": {"data": {"source": "glyphs", "count": 24, "size": 14, "classes": 4, "part": "test"}},
    "optimizer": {"kind": "adamw", "lr": 0.002},
    "steps": 9,
    "batch_size": 8,
    "threads": 1,
    "log_every": 2,
    "checkpoint": {"every": 3},
}


def write_base(path, **changes):
    """BASE with changes; None: the key is left out."""
    job = {k: v for k, v in (BASE | changes).items() if v is not None}
    path.write_text(json.dumps(job, indent=1))  # JSON is YAML
    return path


def write_list(path, members, **changes):
    """The same with members by name."""
    named = [{"name": name} | values for name, values in members.items()]
    return write_base(path, members=named, **changes)


def train_list(folder, members, *words, code=0, **changes):
    """`braid train` of all of them into folder/list: runs by name."""
    path = write_list(folder / "list.yaml", members, **changes)
    run_braid("train", path, "--out", folder / "list", "-q", *words, code=code)
    return runs_of(folder / "list", members)


def runs_of(out, names):
    return {name: JobRun(out / name) for name in names}


def as_word(key, value):
    return f"{key}={value if isinstance(value, str) else json.dumps(value)}"


def train_alone(folder, members, *words, **changes):
    """`braid train` of each of them into a folder of its own."""
    path = write_base(folder / "alone.yaml", **changes)
    for name, values in members.items():
        own = [as_word(key, value) for key, value in values.items()]
        run_braid("train", path, "--out", folder / "alone" / name, "-q", *own, *words)
    return runs_of(folder / "alone", members)


def without_times(text):
    return re.sub(r'"time_s":[^,}]*', "", text)


def content(out):
    """Everything of a run's folder that repeats bit for bit, by file."""
    found = {"metrics": without_times((out / "metrics.jsonl").read_text())}
    found["config"] = (out / "config.yaml").read_bytes()
    for path in sorted((out / "checkpoints").rglob("*")):
        if path.suffix == ".safetensors":
            found[str(path.relative_to(out))] = path.read_bytes()
        elif path.name == "meta.json":
            found[str(path.relative_to(out))] = without_times(path.read_text())
    return found


def differences(found, expected):
    names = found.keys() | expected.keys()
    return sorted(name for name in names if found.get(name) != expected.get(name))


def check_same_members(out, expected, names):
    """The folders of these members have the same bits in both lists."""
    for name in names:
        assert not differences(content(out / name), content(expected / name)), name


def relative_distance(got, want):
    """The largest, over all numbers of all rows but times."""
    assert len(got.rows) == len(want.rows)
    worst = 0.0
    for a, b in zip(got.rows, want.rows, strict=True):
        assert a.keys() == b.keys() and a["split"] == b["split"]
        for key in a.keys() - {"time_s", "split"}:
            worst = max(worst, abs(a[key] - b[key]) / max(abs(b[key]), 1e-12))
    return worst


def ranking(runs):
    """Names, best first: by accuracy, then by loss."""
    values = {name: run.evaluation for name, run in runs.items()}
    return sorted(values, key=lambda name: (-values[name]["accuracy"], values[name]["loss"]))
