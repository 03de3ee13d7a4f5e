"""Models of three libraries the whole way: exported by the script, trained on data that
no batch divides, killed, resumed, made longer, evaluated, predicted with, loaded back.

All ten in the long form, else five of them.
"""

import copy
import json
import os
import random
import signal
import subprocess
import time

import pytest
import torch
from braid_run import braid_bin, run_braid, save
from data_order import batches
from export_model import main
from job_run import JobRun, apart, bits, far_tensor
from measure import ROUNDING, error, nudged, scale_of
from modules import libraries
from modules.whole_way import MODELS, input_text, tensors
from safetensors.torch import load_file
from torch.nn import functional as F

LONG = bool(os.environ.get("BRAID_TEST_LONG"))
SEED = int(os.environ.get("BRAID_TEST_SEED", "0"))
CHOSEN = list(MODELS) if LONG else sorted(random.Random(SEED).sample(list(MODELS), 5))
# Rows to train in batches of 4, the last one of 3 rows; to evaluate, a last one of 1 row.
ROWS, EVAL_ROWS, BATCH, EVAL_BATCH = 19, 9, 4, 4
STEPS = 15  # of three epochs
LOSSES = {"cross_entropy": F.cross_entropy, "mse": F.mse_loss}


@pytest.fixture(name="model", params=CHOSEN)
def choose(request):
    library = request.param.split("_")[0]
    libraries.torchvision()  # which others import
    pytest.importorskip(library, reason="pip install -r tests/e2e/requirements.txt")
    return MODELS[request.param]


def export(folder, model):
    """As a newcomer does, on the command line."""
    fields = model.inputs if model.exported else model.taken
    texts = [input_text(model.argument(name), model.inputs[name], 4) for name in fields]
    words = [f"modules.whole_way.{model.name}", "--inputs", *texts, "--dynamic", "0"]
    if model.exported:
        words += ["--loss", model.loss, "--target", model.target]
    assert main([*words, "--out", str(folder / "net.pt2")]) == 0
    torch.manual_seed(0)
    return model.make()


def write_job(folder, model):
    parts = {"train": tensors(model.name, ROWS, 1), "test": tensors(model.name, EVAL_ROWS, 2)}
    for part, data in parts.items():
        save(folder / f"{part}.safetensors", data)
    job = {
        "model": "net.pt2",
        "data": {"source": "safetensors", "file": "train.safetensors"},
        "eval": {"data": {"source": "safetensors", "file": "test.safetensors"},
                 "batch_size": EVAL_BATCH},
        "optimizer": {"kind": "adamw", "lr": 1e-3},
        "batch_size": BATCH, "epochs": 2, "threads": 1, "log_every": 1,
        "checkpoint": {"every": 2, "keep": 99},
    }  # fmt: skip
    if model.rename:
        job["inputs"] = model.rename
    if model.loss and not model.exported:
        job |= {"loss": model.loss, "target": model.target}
    (folder / "job.yaml").write_text(json.dumps(job, indent=1))
    return job, parts


def compute(model, module, data):
    """What forward predicts, and the loss."""
    result = module(**{model.argument(name): data[name] for name in model.taken})
    scores = result[model.score] if model.score else result
    if not model.loss:
        return scores, result["loss"]
    return scores, LOSSES[model.loss](scores, data[model.target])


def evaluate(model, module, data):
    """Predictions of all rows, and the mean of the loss over rows of batches."""
    parts = [{n: t[i : i + EVAL_BATCH] for n, t in data.items()}
             for i in range(0, EVAL_ROWS, EVAL_BATCH)]  # fmt: skip
    with torch.no_grad():
        done = [compute(model, module.eval(), part) for part in parts]
    weights = [len(scores) for scores, _ in done]
    loss = sum(loss.item() * n for (_, loss), n in zip(done, weights, strict=True))
    return torch.cat([scores for scores, _ in done]), loss / EVAL_ROWS


def kill_when_there_is(folder, path, *words):
    """Runs the program until a file of it is there."""
    command = [braid_bin(), *map(str, words)]
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL)
    while not path.exists() and process.poll() is None:
        time.sleep(0.001)
    process.send_signal(signal.SIGKILL)
    process.wait()


def train_with_pytorch(model, module, data, job, nudge=None):
    """Losses and state after all steps; of weights that are moved by 8 ulp."""
    module = copy.deepcopy(module).train()
    if nudge is not None:
        generator = torch.Generator().manual_seed(nudge)
        with torch.no_grad():
            for parameter in module.parameters():
                parameter.copy_(nudged(parameter, generator))
    optimizer = torch.optim.AdamW(module.parameters(), lr=job["optimizer"]["lr"])
    losses = []
    for batch in batches(data, job, STEPS):
        optimizer.zero_grad()
        loss = compute(model, module, batch)[1]
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return torch.tensor(losses), apart(module.state_dict())


def check_training(model, module, data, job, run):
    """Every step is that of PyTorch, as far as rounding allows."""
    (losses, state), *others = [
        train_with_pytorch(model, module, data, job, nudge) for nudge in (None, 0, 1)
    ]
    response = max(error(other, losses, 0) for other, _ in others)
    assert error(torch.tensor(run.losses), losses, 0) < max(1e-5, 3 * response)
    median, mine, parameters = scale_of(state), run.state(), dict(module.named_parameters())
    assert mine.keys() == state.keys()
    for name, want in state.items():
        response = max(error(other[name], want, median) for _, other in others)
        far, limit = error(mine[name], want, median), max(1e-4, 3 * response)
        if response > ROUNDING and name in parameters:
            far, limit = far_tensor(mine[name], want), 2 * job["optimizer"]["lr"] * STEPS
        assert far <= limit, f"{name} is {far:.3g} away, and not {limit:.3g}"


def check_predictions(folder, model, module, data):
    """Of the weights that the run exports, in a module that was made otherwise."""
    run_braid("export", "run", "--to", "state.safetensors", cwd=folder)
    torch.manual_seed(77)
    twin = model.make().to(next(module.parameters()).dtype)
    twin.load_state_dict(load_file(folder / "state.safetensors"), strict=True)
    scores, loss = evaluate(model, twin, data)
    text = run_braid("eval", "run", "--json", cwd=folder).stdout
    assert json.loads(text)["metrics"]["loss"] == pytest.approx(loss, rel=1e-5)
    run_braid("predict", "run", "--to", "p.safetensors", cwd=folder)
    got = load_file(folder / "p.safetensors")
    name = "scores" if model.exported else model.score or "0"
    numbers = got["sample_number" if name == "sample" else "sample"]
    assert numbers.tolist() == list(range(EVAL_ROWS))
    assert got[name].shape == scores.shape
    assert error(got[name], scores, 0) < 1e-5


def test_the_whole_way(tmp_path, model):
    module = export(tmp_path, model)
    job, parts = write_job(tmp_path, model)
    run_braid("validate", "job.yaml", cwd=tmp_path)
    run_braid("train", "job.yaml", "epochs=3", "--out", "whole", "-q", cwd=tmp_path)
    whole = JobRun(tmp_path / "whole")

    # Killed, resumed to its end, and made longer: to the bit the run that never was.
    step = tmp_path / "run" / "checkpoints" / "step-4"
    kill_when_there_is(tmp_path, step, "train", "job.yaml", "--out", "run")
    run_braid("resume", "run", "-q", cwd=tmp_path)
    run_braid("resume", "run", "epochs=3", "-q", cwd=tmp_path)
    assert bits(JobRun(tmp_path / "run")) == bits(whole)

    check_predictions(tmp_path, model, module, parts["test"])
    if not model.drops:
        check_training(model, module, parts["train"], job, whole)


def test_members_of_an_array_are_as_alone(tmp_path, model):
    if not LONG:
        pytest.skip("in the long form")
    export(tmp_path, model)
    write_job(tmp_path, model)
    run_braid("train", "job.yaml", "--out", "alone", "seed=2", "-q", cwd=tmp_path)
    run_braid("train", "job.yaml", "--out", "list", "grid.seed=[1,2,3]", "-q", cwd=tmp_path)
    alone, member = JobRun(tmp_path / "alone"), JobRun(tmp_path / "list" / "seed=2")
    assert member.losses == pytest.approx(alone.losses, rel=1e-4)
