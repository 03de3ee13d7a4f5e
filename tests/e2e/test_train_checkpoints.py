"""Checkpoints and exports are state dicts of the plain modules."""

import json

import models
import pytest
import torch
from braid_run import run_braid, save
from job_case import SIZES, Case, draw_images
from job_run import JobRun, far, save_init, torch_dtype, train
from plain_training import evaluate_plain
from safetensors.torch import load_file

EVAL_ROWS = 12


def with_eval(case, folder, metrics, dtype="f64"):
    """Adds data of their own to evaluate; the last batch is shorter."""
    held = draw_images(case.name, dtype, size=29, seed=5)
    file = str(save(folder / "held.safetensors", held))
    case.job["eval"] = {
        "data": {"source": "safetensors", "file": file},
        "batch_size": EVAL_ROWS,
        "metrics": metrics,
        "every": 3,
    }
    return held


def fresh(name, state, dtype="f64"):
    twin = models.make(name, torch_dtype(dtype), seed=77, **SIZES[name])
    twin.load_state_dict(state, strict=True)
    return twin


def outputs(twin, data):
    """What the twin's losses are of, sample by sample."""
    twin.eval()
    with torch.no_grad():
        return [twin(**{k: t[i : i + 1] for k, t in data.items()}).item() for i in range(8)]


@pytest.mark.parametrize("name", ["lenet", "resblock"])
def test_a_checkpoint_is_a_state_dict(tmp_path, name):
    case = Case(tmp_path, name)
    held = with_eval(case, tmp_path, ["accuracy", "top5", "loss", "perplexity"])
    run = case.check()
    twin = fresh(name, run.state())
    assert far(outputs(twin, held), outputs(case.twin, held)) < 1e-9
    want = evaluate_plain(twin, held, EVAL_ROWS)
    got = run.evaluation
    assert {k: got[k] for k in want} == pytest.approx(want, rel=1e-9)
    assert got["perplexity"] == pytest.approx(torch.tensor(want["loss"]).exp().item(), rel=1e-6)
    assert {row["step"] for row in run.split("eval")} == {3, 6, 9}


def test_training_goes_on_from_a_checkpoint(tmp_path):
    """`init` takes the file of a run as it takes PyTorch's."""
    case = Case(tmp_path, "resblock", optimizer={"kind": "sgd", "lr": 0.05})
    case.job["data"]["shuffle"] = False
    first = train(tmp_path, case.job | {"steps": 6})
    file = first.checkpoint() / "model.safetensors"
    second = train(tmp_path, case.job | {"steps": 3, "init": str(file)}, out="second")
    whole = train(tmp_path, case.job | {"steps": 9}, out="whole")
    # Six steps are two epochs, so the third begins as the first did.
    assert first.losses + second.losses == whole.losses
    assert far(second.state(), whole.state()) == 0


def test_exports(tmp_path):
    case = Case(tmp_path, "lenet", ema=0.7, steps=12)
    case.job["optimizer"]["lr"] = 0.05  # gets worse at some time
    held = with_eval(case, tmp_path, ["loss", "accuracy", "top5"])
    run = train(tmp_path, case.job | {"checkpoint": {"every": 3, "keep": 1}})
    rows = run.split("eval")
    best = min(rows, key=lambda row: row["loss"])
    assert best != rows[-1] and len(rows) == len(run.split("eval_raw")) == 4

    def exported(*words, says):
        file = tmp_path / "exported.safetensors"
        assert says in run_braid("export", run.folder, "--to", file, *words).stdout
        return load_file(file)

    averaged, raw = "averaged weights (ema)", "raw weights"
    assert far(exported(says=averaged), run.state("model_ema")) == 0
    assert far(exported("--ema", says=averaged), run.state("model_ema")) == 0
    assert far(exported("--raw", says=raw), run.state()) == 0
    assert far(exported("--best", "--raw", says="best loss"), run.state(step=best["step"])) == 0
    # What is written is what was evaluated; PyTorch finds the same numbers.
    for words, split in ((["--best"], "eval"), (["--best", "--raw"], "eval_raw")):
        state = exported(*words, says=f"step {best['step']}, best loss")
        got = evaluate_plain(fresh("lenet", state), held, EVAL_ROWS)
        want = next(row for row in run.split(split) if row["step"] == best["step"])
        assert {k: want[k] for k in got} == pytest.approx(got, rel=1e-9)
        assert want["weights"] == {"eval": "averaged", "eval_raw": "raw"}[split]


def test_an_export_has_a_name_of_its_own(tmp_path):
    run = train(tmp_path, Case(tmp_path, "mlp", steps=2).job)
    run_braid("export", run.folder, cwd=tmp_path)
    assert far(load_file(tmp_path / "model.safetensors"), run.state()) == 0
    assert "never evaluated" in run_braid("export", run.folder, "--best", code=2).stderr


def test_tied_weights_are_written_under_both_names(tmp_path):
    sizes = {"width": 8, "heads": 2, "layers": 1, "positions": 8, "dropout": 0}
    (tmp_path / "text.txt").write_text("abcdefgh" * 40)
    twin = models.make("transformer_lm", torch.float64, length=8, vocab=8, **sizes)
    job = {
        "model": {"name": "transformer_lm"} | sizes,
        "data": {"source": "text", "file": "text.txt", "length": 8},
        "init": save_init(tmp_path / "init.safetensors", twin),
        "dtype": "f64",
        "steps": 4,
        "batch_size": 4,
    }
    state = train(tmp_path, job).state()
    assert far(state, twin.state_dict()) > 1e-4
    twin.load_state_dict(state, strict=True)
    assert torch.equal(state["head.weight"], state["embedding.weight"])


def test_a_resumed_run_has_the_rows_of_a_whole_one(tmp_path):
    case = Case(tmp_path, "resblock", steps=8, checkpoint={"every": 4})
    with_eval(case, tmp_path, ["accuracy"])
    whole = train(tmp_path, case.job)
    train(tmp_path, case.job | {"steps": 4}, out="part")
    config = tmp_path / "part" / "config.yaml"
    config.write_text(config.read_text().replace("steps: 4", "steps: 8"))
    run_braid("resume", tmp_path / "part", "-q")
    part = JobRun(tmp_path / "part")
    assert far(part.state(), whole.state()) == 0
    assert part.losses == whole.losses
    meta = json.loads((part.checkpoint() / "meta.json").read_text())
    assert meta["step"] == 8
