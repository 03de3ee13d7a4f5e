"""A stranger's day: an own module with a dynamic batch, data that no batch size
divides; train, evaluate, stop early, resume, take the best, compare with PyTorch.
"""

import copy
import json
import math
import os
import random
import shutil

import pytest
import torch
from braid_run import run_braid, save
from data_order import batches
from exporting import export
from job_run import JobRun, apart, bits, far, far_tensor
from safetensors.torch import load_file
from strangers import STRANGERS
from torch import nn
from torch.nn import functional as F

LONG = bool(os.environ.get("BRAID_TEST_LONG"))
# The quick form takes some of them, chosen by a seed.
SEED = int(os.environ.get("BRAID_TEST_SEED", "0"))


def some(names, count):
    return list(names) if LONG else sorted(random.Random(SEED).sample(list(names), count))


# Rows to train, rows to evaluate, rows of a batch: rests of 5 and 7; of one row; of
# none in training; a batch larger than the data to evaluate.
SIZES = [(45, 23, 8)] + ([(33, 17, 8), (32, 9, 16), (19, 5, 7)] if LONG else [])


# Their gradients are rounding alone: biases of keys, before batch norm, and of all
# scores of a softmax; and a running mean that follows such a bias.
ROUNDING = ("in_proj_bias", "net.0.bias", "net.1.running_mean", "weight.bias")
NEEDS_ROWS = {"dict_in_dict_out"}
DROPPING = {"drop_planes", "padded_encoder", "two_way_lstm", "small_bert"}


def make_job(folder, stranger, sizes):
    rows, eval_rows, batch = sizes
    torch.manual_seed(11)
    parts = {"train": stranger.data(rows), "test": stranger.data(eval_rows)}
    source = {
        part: {"source": "safetensors", "file": str(save(folder / f"{part}.safetensors", data))}
        for part, data in parts.items()
    }
    job = {
        "model": str(folder / "net.pt2"),
        "data": source["train"],
        "inputs": stranger.arguments,
        "eval": {
            "data": source["test"],
            "every": 4,
            # Soon nothing gets better by so much.
            "early_stop": {"patience": 2, "min_delta": 0.2},
        },
        "optimizer": {"kind": "adamw", "lr": 0.01},
        "batch_size": batch,
        "steps": 60,
        "threads": 1,
        "log_every": 1,
        "checkpoint": {"every": 3, "keep": 2, "best": "loss"},
    }
    return job, parts


def eval_loss(stranger, module, data, batch):
    """The mean over rows of batches, as they are evaluated."""
    rows = len(next(iter(data.values())))
    total = 0.0
    with torch.no_grad():
        for first in range(0, rows, batch):
            part = {name: t[first : first + batch] for name, t in data.items()}
            total += stranger.loss(module, part).item() * len(next(iter(part.values())))
    return total / rows


def exported(folder, stranger, batch):
    torch.manual_seed(3)
    module = stranger.module()
    example = stranger.inputs(stranger.data(batch))
    export(module, example, folder / "net.pt2", dynamic=[0], make=stranger.module)
    return module


@pytest.mark.parametrize("sizes", SIZES, ids=lambda s: "of".join(map(str, s)))
@pytest.mark.parametrize("name", some(STRANGERS, 6))
def test_trains_evaluates_stops_resumes_and_gives_the_best(tmp_path, name, sizes):
    stranger = STRANGERS[name]
    module = exported(tmp_path, stranger, 4)
    job, parts = make_job(tmp_path, stranger, sizes)
    # PyTorch refuses to train batch norm on one row, and so does Braid.
    job["drop_last"] = name in NEEDS_ROWS and sizes[0] % sizes[2] == 1
    (tmp_path / "job.yaml").write_text(json.dumps(job))
    out = tmp_path / "run"
    run_braid("validate", tmp_path / "job.yaml")
    done = run_braid("train", tmp_path / "job.yaml", "--out", out)
    run = JobRun(out)
    assert "stopped early" in done.stdout
    assert run.split("train")[-1]["step"] < 60

    # A run that lost its end goes on to the same end, to the bit.
    torn = tmp_path / "torn"
    shutil.copytree(out, torn)
    shutil.rmtree(JobRun(torn).checkpoint())
    run_braid("resume", torn)
    assert bits(JobRun(torn)) == bits(run)

    # The best checkpoint is the best evaluation, and PyTorch's.
    best = min(run.split("eval"), key=lambda row: row["loss"])
    run_braid("export", out, "--best", "--to", tmp_path / "best.safetensors")
    twin = copy.deepcopy(module)
    twin.load_state_dict(load_file(tmp_path / "best.safetensors"), strict=False)
    want = eval_loss(stranger, twin.eval(), parts["test"], sizes[2])
    assert best["loss"] == pytest.approx(want, rel=1e-4, abs=1e-5)


@pytest.mark.parametrize("name", some([n for n in STRANGERS if n not in DROPPING], 4))
def test_steps_are_those_of_pytorch(tmp_path, name):
    """Without dropout every step is the same, the short ones too."""
    stranger = STRANGERS[name]
    module = exported(tmp_path, stranger, 4)
    job, parts = make_job(tmp_path, stranger, (21, 5, 8))
    job |= {"steps": 7, "eval": {}, "checkpoint": {}}
    del job["eval"]
    (tmp_path / "job.yaml").write_text(json.dumps(job))
    run_braid("train", tmp_path / "job.yaml", "--out", tmp_path / "run")
    run = JobRun(tmp_path / "run")
    optimizer = torch.optim.AdamW(module.parameters(), lr=0.01)
    losses = []
    for batch in batches(parts["train"], job, 7):
        optimizer.zero_grad()
        loss = stranger.loss(module.train(), batch)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert far(run.losses, losses) < 1e-4
    state = apart(module.state_dict())
    got = run.state()
    for name, want in state.items():
        limit = 2 * 0.01 * 7 if name.endswith(ROUNDING) else 2e-3
        assert far_tensor(got[name], want) < limit, name


def test_batch_norm_refuses_one_row(tmp_path):
    stranger = STRANGERS["dict_in_dict_out"]
    exported(tmp_path, stranger, 4)
    job, _ = make_job(tmp_path, stranger, (17, 5, 8))
    (tmp_path / "job.yaml").write_text(json.dumps(job))
    done = run_braid("validate", tmp_path / "job.yaml", code=2)
    assert "the batch norm 'net.1' needs more than one value per channel" in done.stderr
    assert "the last batch of an epoch has 1 rows; set 'drop_last: true'" in done.stderr
    run_braid("validate", tmp_path / "job.yaml", "drop_last=true")


class Padded(nn.Module):
    """Scores of words, some of which do not count."""

    def __init__(self):
        super().__init__()
        self.words, self.head = nn.Embedding(20, 6), nn.Linear(6, 20)

    def forward(self, ids, targets):
        scores = self.head(self.words(ids))
        return F.cross_entropy(scores.flatten(0, 1), targets.flatten(), ignore_index=-100)


def test_targets_that_do_not_count_do_not_weigh(tmp_path):
    """The evaluation is PyTorch's over all of the data, whatever the batch."""
    torch.manual_seed(8)
    module = Padded()
    data = {"ids": torch.randint(20, (23, 5)), "targets": torch.randint(20, (23, 5))}
    data["targets"][torch.arange(23) % 3 != 0, 1:] = -100
    data["targets"][8:12] = -100  # a batch without any
    example = {name: t[:4] for name, t in data.items()}
    export(module, example, tmp_path / "net.pt2", dynamic=[0])
    file = save(tmp_path / "d.safetensors", data)
    job = {
        "model": str(tmp_path / "net.pt2"),
        "data": {"source": "safetensors", "file": str(file)},
        "eval": {"data": {"source": "safetensors", "file": str(file)}, "batch_size": 4},
        "optimizer": {"kind": "sgd", "lr": 0.0},
        "batch_size": 23,
        "steps": 1,
    }
    (tmp_path / "job.yaml").write_text(json.dumps(job))
    run_braid("train", tmp_path / "job.yaml", "--out", tmp_path / "run")
    got = JobRun(tmp_path / "run").evaluation
    want = module(**data).item()
    assert got["loss"] == pytest.approx(want, rel=1e-5)
    assert got["perplexity"] == pytest.approx(math.exp(want), rel=1e-5)
