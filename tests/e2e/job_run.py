"""Writes job files, trains them and reads what the run left."""

import json
from pathlib import Path

import torch
from braid_run import run_braid, save
from safetensors.torch import load_file


class JobRun:
    """The directory of a run."""

    def __init__(self, folder):
        self.folder = Path(folder)
        lines = (self.folder / "metrics.jsonl").read_text().splitlines()
        self.rows = [json.loads(line) for line in lines]

    def split(self, name):
        return [row for row in self.rows if row["split"] == name]

    def values(self, key, split="train"):
        return [row[key] for row in self.split(split) if key in row]

    @property
    def losses(self):
        return self.values("loss")

    @property
    def evaluation(self):
        return self.split("eval")[-1]

    def checkpoint(self, step=None):
        folder = self.folder / "checkpoints"
        steps = sorted(int(p.name.removeprefix("step-")) for p in folder.iterdir())
        return folder / f"step-{step or steps[-1]}"

    def state(self, name="model", step=None):
        return load_file(self.checkpoint(step) / f"{name}.safetensors")


def train(folder, job, *words, out="run"):
    """`braid train` of a job, which may be a dict, to its end."""
    folder.mkdir(exist_ok=True)
    path = folder / "job.yaml"
    path.write_text(json.dumps(job, indent=1))  # JSON is YAML
    run_braid("train", path, "--out", folder / out, "-q", *words)
    return JobRun(folder / out)


def apart(state):
    """Tied tensors as copies: a file has each by itself."""
    return {name: t.detach().clone() for name, t in state.items()}


def save_init(path, module):
    save(path, apart(module.state_dict()))
    return str(path)


def far(got, want):
    """The largest distance of two lists of numbers, or of two states."""
    if isinstance(want, dict):
        assert got.keys() == want.keys(), f"{sorted(got)} instead of {sorted(want)}"
        return max(far_tensor(got[name], want[name]) for name in want)
    assert len(got) == len(want), f"{len(got)} numbers instead of {len(want)}"
    return max(abs(a - b) for a, b in zip(got, want, strict=True))


def far_tensor(got, want):
    assert got.shape == want.shape and got.dtype == want.dtype
    return float((got.detach().double() - want.detach().double()).abs().max())


def bits(run):
    """Everything of a run that repeats bit for bit."""
    files = {p.name: p.read_bytes() for p in run.checkpoint().glob("*.safetensors")}
    return files, [{k: v for k, v in row.items() if k != "time_s"} for row in run.rows]


def step_count(run):
    return run.split("train")[-1]["step"]


def torch_dtype(name):
    return {"f32": torch.float32, "f64": torch.float64}[name]
