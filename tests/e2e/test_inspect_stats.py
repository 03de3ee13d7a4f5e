"""`braid inspect DIR --stats` against torch."""

import json

import pytest
from braid_run import run_braid
from data_order import batches
from job_case import Case
from job_run import train
from train_jobs import snapshot


def stats(tensor):
    t = tensor.double()
    return {
        "elements": t.numel(), "mean": t.mean().item(),
        "deviation": t.std(unbiased=False).item(), "least": t.min().item(),
        "most": t.max().item(), "zeros": (t == 0).double().mean().item(), "not_finite": 0,
    }  # fmt: skip


def inspect(folder, pattern, *words):
    return json.loads(run_braid("inspect", folder, "--stats", pattern, "--json", *words).stdout)


def assert_rows(rows, want):
    assert [row["name"] for row in rows] == sorted(want)
    for row in rows:
        assert row["shape"] == list(want[row["name"]].shape)
        for key, value in stats(want[row["name"]]).items():
            assert row[key] == pytest.approx(value, rel=1e-9, abs=1e-14), (row["name"], key)


@pytest.mark.parametrize("steps, rows", [(2, 6), (4, 16)])
def test_numbers_are_those_of_torch(tmp_path, steps, rows):
    """38 samples in batches of 16: the third batch has six."""
    case = Case(tmp_path, "lenet", steps=9, clip=1e-3, checkpoint={"every": steps})
    run = train(tmp_path, case.job | {"steps": steps})
    before = snapshot(run.folder)
    found = inspect(run.folder, "*", "steps=9")
    assert snapshot(run.folder) == before
    assert found["step"] == steps
    case.twin.load_state_dict(run.state())
    assert_rows(sorted(found["weights"], key=lambda r: r["name"]), run.state())
    batch = batches(case.data, case.job, steps + 1)[steps]
    assert found["rows"] == len(batch["y"]) == rows
    case.twin(**batch).backward()
    assert_rows(found["gradients"], {n: p.grad for n, p in case.twin.named_parameters()})


def test_a_run_that_has_ended_takes_a_batch_that_it_has_a_program_for(tmp_path):
    case = Case(tmp_path, "mlp", steps=2)
    run = train(tmp_path, case.job)
    found = inspect(run.folder, "head.*")
    assert found["rows"] == 16
    assert [row["name"] for row in found["gradients"]] == ["head.bias", "head.weight"]


def test_the_table_and_what_does_not_learn(tmp_path):
    case = Case(tmp_path, "mlp", steps=3, freeze=["layers.0.*"])
    run = train(tmp_path, case.job)
    text = run_braid("inspect", run.folder, "--stats", "layers.?.weight").stdout
    weights, gradients = text.split("gradients")
    assert "after step 3" in weights and "deviation" in weights
    assert "layers.0.weight" in weights and "layers.1.weight" in weights
    assert "layers.0.weight" not in gradients and "layers.1.weight" in gradients
    assert "head" not in text
    frozen = run_braid("inspect", run.folder, "--stats", "layers.0.*").stdout
    assert "none of these learn" in frozen


@pytest.mark.parametrize("words, told", [
    (["--stats", "haed.*"], "did you mean 'head."),
    (["--json"], "--json goes with --stats"),
])  # fmt: skip
def test_mistakes_are_named(tmp_path, words, told):
    case = Case(tmp_path, "mlp", steps=1)
    run = train(tmp_path, case.job)
    assert told in run_braid("inspect", run.folder, *words, code=2).stderr
    empty = tmp_path / "empty"
    empty.mkdir()
    assert "holds no run" in run_braid("inspect", empty, "--stats", "*", code=2).stderr
