"""Losses and metrics in types of two bytes are the numbers that they are."""

import json

import pytest
import torch
from braid_run import run_braid, save
from exporting import export
from job_run import JobRun, train
from torch import nn
from torch.nn import functional as F

TYPES = {"bf16": torch.bfloat16, "f16": torch.float16}


class Narrow(nn.Module):
    def __init__(self, dtype):
        super().__init__()
        self.net = nn.Linear(5, 3)
        self.dtype = dtype

    def forward(self, x, y):
        scores = self.net(x)
        spread = scores.square().mean().to(self.dtype)
        return {"loss": F.cross_entropy(scores, y).to(self.dtype), "spread": spread}


def prepare(folder, dtype):
    torch.manual_seed(2)
    data = {"x": torch.randn(22, 5), "y": torch.randint(3, (22,))}
    module = Narrow(TYPES[dtype])
    export(module, {k: v[:4] for k, v in data.items()}, folder / "net.pt2", dynamic=[0])
    source = {"source": "safetensors", "file": str(save(folder / "d.safetensors", data))}
    job = {
        "model": str(folder / "net.pt2"),
        "data": source | {"shuffle": False},
        "eval": {"data": source, "batch_size": 22, "metrics": ["loss", "spread"]},
        "optimizer": {"kind": "sgd", "lr": 0.0},
        "batch_size": 8,
        "steps": 3,
        "log_every": 1,
    }
    with torch.no_grad():
        rows = [{k: v[i : i + 8] for k, v in data.items()} for i in range(0, 22, 8)]
        losses = [module(**batch)["loss"].item() for batch in rows]
        whole = {name: value.item() for name, value in module(**data).items()}
    return job, losses, whole


@pytest.mark.parametrize("dtype", TYPES)
def test_of_a_job_alone(tmp_path, dtype):
    job, losses, whole = prepare(tmp_path, dtype)
    run = train(tmp_path, job)
    assert run.losses == pytest.approx(losses, rel=1e-2)
    for name, value in whole.items():
        assert run.evaluation[name] == pytest.approx(value, rel=1e-2)


@pytest.mark.parametrize("dtype", TYPES)
def test_of_an_array(tmp_path, dtype):
    job, losses, whole = prepare(tmp_path, dtype)
    job["members"] = [{"name": f"m{i}", "seed": i} for i in range(3)]
    (tmp_path / "list.yaml").write_text(json.dumps(job))
    run_braid("train", tmp_path / "list.yaml", "--out", tmp_path / "runs")
    for i in range(3):
        run = JobRun(tmp_path / "runs" / f"m{i}")
        assert run.losses == pytest.approx(losses, rel=1e-2)
        assert run.evaluation["spread"] == pytest.approx(whole["spread"], rel=1e-2)
