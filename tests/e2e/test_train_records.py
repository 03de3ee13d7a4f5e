"""What a run writes beside its weights, and that it repeats bit for bit."""

import json

import pytest
from data_order import epoch_order
from job_case import Case
from job_run import bits, train
from test_event_files import as_single, read


@pytest.fixture(name="case")
def make_case(tmp_path):
    case = Case(tmp_path, "lenet", dtype="f32", steps=7, checkpoint={"every": 3})
    case.job["eval"] = {"data": case.job["data"], "metrics": ["accuracy", "top5"], "every": 3}
    return case


def test_tensorboard_shows_the_numbers_of_the_metrics(tmp_path, case):
    run = train(tmp_path, case.job | {"log_every": 2})
    want = {}
    for row in run.rows:
        for name in row.keys() - {"step", "epoch", "time_s", "split"}:
            tag = f"{row['split']}/{name}"
            want.setdefault(tag, []).append((row["step"], as_single(row[name])))
    assert read(run.folder) == want
    assert want.keys() == {
        "train/loss", "train/lr", "eval/loss", "eval/accuracy", "eval/top5",
    }  # fmt: skip
    assert [step for step, _ in want["train/loss"]] == [2, 4, 6, 7]
    assert [step for step, _ in want["eval/accuracy"]] == [3, 6, 7]


def test_lines_are_means_since_the_last(tmp_path, case):
    every = train(tmp_path, case.job).losses
    some = train(tmp_path, case.job | {"log_every": 3}, out="some")
    means = [sum(part) / len(part) for part in (every[:3], every[3:6], every[6:])]
    assert some.losses == pytest.approx(means, rel=1e-12)


def test_a_trace_has_a_track_for_everything(tmp_path, case):
    file = tmp_path / "trace.json"
    train(tmp_path, case.job, "--trace", file)
    trace = json.loads(file.read_text())
    events = trace["traceEvents"] if isinstance(trace, dict) else trace
    tracks = {e["args"]["name"] for e in events if e["name"] == "thread_name"}
    assert {"compute", "load", "eval", "checkpoint"} <= tracks
    spans = [e for e in events if e["ph"] == "X"]
    steps = [e["name"] for e in spans if e["cat"] == "step"]
    assert steps == [f"step {i}" for i in range(1, 8)]
    assert all(e["dur"] >= 0 and e["ts"] >= 0 for e in spans)
    assert sum(e["name"] == "evaluation" for e in spans) == 3


def test_a_run_repeats_bit_for_bit(tmp_path, case):
    first = train(tmp_path, case.job)
    assert bits(train(tmp_path, case.job, out="again")) == bits(first)
    assert bits(train(tmp_path, case.job | {"seed": 1}, out="other")) != bits(first)


def test_orders_differ_by_epoch_and_seed():
    first = epoch_order(50, 0, 0)
    assert sorted(first) == list(range(50))
    assert first not in (epoch_order(50, 0, 1), epoch_order(50, 1, 0), list(range(50)))


def test_every_epoch_has_its_own_order(tmp_path, case):
    """Batches of one sample with a rate of 0 tell which sample came when."""
    case.job |= {"batch_size": 1, "steps": 76, "optimizer": {"kind": "sgd", "lr": 0}}
    del case.job["eval"]
    losses = train(tmp_path, case.job).losses
    first, second = losses[:38], losses[38:]
    assert sorted(first) == sorted(second) and first != second
    unshuffled = case.job | {"data": case.job["data"] | {"shuffle": False}}
    plain = train(tmp_path, unshuffled, out="plain").losses
    assert plain[:38] == plain[38:]
    assert [plain[i] for i in epoch_order(38, 0, 0)] == first
    assert [plain[i] for i in epoch_order(38, 0, 1)] == second
