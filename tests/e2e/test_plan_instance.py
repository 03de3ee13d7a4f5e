"""`braid plan --instance`: the contract of its JSON, its table and its errors."""

import itertools
import json

import pytest
from braid_run import run_braid

SOLVERS = ["certified", "dp", "greedy", "random", "all-on", "all-off"]

KEEP = {"name": "keep", "f": 20, "b": 40, "res": 60, "keep": 140, "xf": 10, "xb": 80}
RECOMPUTE = {"name": "recompute", "f": 20, "b": 60, "res": 60, "keep": 10, "xf": 10, "xb": 210}
OFFLOAD = {
    "name": "offload", "f": 20, "b": 40, "of": 56, "hb": 56, "dep": True,
    "res": 60, "wb": 140, "lf": 140, "xf": 150, "xb": 80,
}  # fmt: skip
MODES = [KEEP, RECOMPUTE, OFFLOAD]


def stack(layers=4, limit=600, **more):
    segments = [{"name": f"layer.{i}", "modes": MODES} for i in range(layers)]
    return {"device_bytes": limit, "depths": [0, 1, 2], "segments": segments} | more


@pytest.fixture(name="plan")
def plan_of(tmp_path):
    def call(instance, *words, code=0):
        text = instance if isinstance(instance, str) else json.dumps(instance)
        (tmp_path / "x.json").write_text(text)
        return run_braid("plan", "--instance", "x.json", *words, code=code, cwd=tmp_path)

    return call


def mode_of(instance, plan, slot):
    n = len(instance["segments"])
    i = slot if slot < n else 2 * n - 1 - slot
    return i, instance["segments"][i]["modes"][plan["modes"][i]]


def replay(instance, plan):
    """Time and peak by the words of docs/plan.md, for instances without collectives."""
    n, d = len(instance["segments"]), plan["depth"]
    modes = [mode_of(instance, plan, p) for p in range(2 * n)]

    def field(p, forward, backward):
        return modes[p][1].get(forward if p < n else backward, 0)

    gate, fetched, computed, evicted, update = [], [], [], [], 0
    for p in range(2 * n):
        gone = evicted[p - d - 1] if p > d else 0
        gate.append(max(computed[-1] if p else 0, gone))
        issue = gate[max(p - d, 0)]
        if p >= n and modes[p][1].get("dep"):
            issue = max(issue, evicted[modes[p][0]])
        copy = field(p, "hf", "hb")
        fetched.append(max(fetched[-1] if p else 0, issue if copy else 0) + copy)
        begin = max(gate[p], fetched[p] if copy else 0)
        computed.append(begin + field(p, "f", "b"))
        evicted.append(max(evicted[-1] if p else 0, computed[p]) + field(p, "of", "ob"))
        update = max(update, evicted[p]) + field(p, "", "u")
    peak = 0
    for p in range(2 * n):
        own = sum(modes[i][1].get("res", 0) for i in range(n))
        own += sum(modes[i][1].get("keep", 0) for i in range(modes[p][0] + 1))
        own += field(p, "xf", "xb")
        own += sum(field(q, "wf", "wb") for q in range(p, min(p + d, 2 * n - 1) + 1))
        own += sum(field(q, "lf", "lb") for q in range(max(p - d, 0), p))
        peak = max(peak, own)
    return max(evicted[-1], update), peak


def fastest(instance):
    n = len(instance["segments"])
    times = [
        time
        for depth in instance["depths"]
        for modes in itertools.product(range(len(MODES)), repeat=n)
        for time, peak in [replay(instance, {"depth": depth, "modes": modes})]
        if peak <= instance["device_bytes"]
    ]
    return min(times)


@pytest.mark.parametrize("limit", [560, 600, 700, 5000])
def test_the_answer_is_the_fastest_of_all_plans(plan, limit):
    instance = stack(limit=limit)
    answer = json.loads(plan(instance, "--json").stdout)
    assert answer["feasible"] is True and answer["proved"] is True
    assert (answer["time_ns"], answer["peak_bytes"]) == replay(instance, answer)
    assert answer["time_ns"] == fastest(instance) == answer["lower_bound_ns"]
    assert answer["peak_bytes"] <= limit and answer["gap"] == 0


@pytest.mark.parametrize("solver", SOLVERS)
def test_every_solver_answers_with_a_plan_of_its_own(plan, solver):
    instance = stack(layers=20, limit=1800)
    words = ["--solver", solver, "--seed", "3", "--json"]
    done = plan(instance, *words, code=1 if solver == "all-off" else 0)
    assert plan(instance, *words, code=done.returncode).stdout == done.stdout
    answer = json.loads(done.stdout)
    if answer["feasible"]:
        assert (answer["time_ns"], answer["peak_bytes"]) == replay(instance, answer)
        assert answer["peak_bytes"] <= 1800
        assert answer["lower_bound_ns"] <= answer["time_ns"]


def test_the_table_names_segments_and_modes(plan):
    text = plan(stack(limit=600)).stdout
    assert "plan   4 segments, depth" in text
    assert "proved: no plan is faster" in text
    assert "of 600 B, most in" in text
    assert "layer.3" in text and "recompute" in text


def test_a_limit_that_nothing_fits_says_what_is_missing(plan):
    answer = json.loads(plan(stack(limit=100), "--json", code=1).stdout)
    least = answer["least_peak_bytes"]
    assert answer == {
        "feasible": False, "least_peak_bytes": least, "least_peak_bound": least,
        "least_host_bytes": 0, "proved": True,
    }  # fmt: skip
    message = plan(stack(limit=100), code=1).stderr
    assert f"{least - 100} bytes are missing" in message
    assert "the least limit that a plan fits is" in message
    assert json.loads(plan(stack(limit=least), "--json").stdout)["peak_bytes"] == least
    plan(stack(limit=least - 1), "--json", code=1)


def test_a_limit_of_the_host_that_nothing_fits(plan):
    modes = [{"f": 1, "b": 1, "host": 10}]
    instance = {"host_bytes": 15, "depths": [1], "segments": [{"modes": modes}] * 2}
    answer = json.loads(plan(instance, "--json", code=1).stdout)
    assert answer["least_peak_bytes"] is None and answer["least_host_bytes"] == 20
    assert "5 bytes more" in plan(instance, code=1).stderr


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "[plan] x.json: not valid JSON at byte 2"),
        ('{"depths": [0], "segments": []}', "segments: expected at least one segment"),
        (json.dumps(stack(depths=[70])), "depths[0]: expected 0 to 64, got 70"),
        (json.dumps(stack(limit=1.5)), "device_bytes: expected a whole number from 0"),
        (json.dumps(stack(seconds=3)), "seconds: nobody reads this key"),
    ],
)
def test_a_file_that_is_wrong_is_named_with_the_place(plan, text, said):
    assert said in plan(text, code=2).stderr


def test_wrong_options(plan, tmp_path):
    assert "did you mean 'greedy'" in plan(stack(), "--solver", "gready", code=2).stderr
    assert "effort from 0" in plan(stack(), "--effort", "-1", code=2).stderr
    run_braid("plan", code=2)
    run_braid("plan", "--instance", tmp_path / "missing.json", code=1)
    assert "  certified   " in run_braid("plan", "--help").stdout
