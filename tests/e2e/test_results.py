"""What came of a list of jobs: results.json, results.csv, `braid runs`, `export --best`."""

import csv
import json
import signal
import time

import pytest
from braid_run import run_braid
from job_run import JobRun
from list_jobs import BASE, train_list, write_list
from safetensors.torch import load_file
from train_jobs import start

# Two arrays; one job fails, one stops early.
MEMBERS = {
    "a": {"optimizer.lr": 0.002},
    "wild,quoted": {"optimizer.lr": 1e30},
    "b": {"optimizer.lr": 0.01, "steps": 7},
    "early": {"optimizer.lr": 0.0, "eval.early_stop.patience": 1},
    "other": {"batch_size": 4, "steps": 5},
}
CHANGES = {"eval": BASE["eval"] | {"every": 2}}


def read_json(out):
    return json.loads((out / "results.json").read_text())


def rows_of(out):
    return {row["name"]: row for row in read_json(out)["runs"]}


def read_csv(out):
    with open(out / "results.csv", newline="") as file:
        return list(csv.DictReader(file))


def best_of(rows):
    return min(rows, key=lambda row: (-row["accuracy"], row["step"]))


@pytest.fixture(name="out", scope="module")
def train_all(tmp_path_factory):
    folder = tmp_path_factory.mktemp("results")
    path = write_list(folder / "list.yaml", MEMBERS, **CHANGES)
    run_braid("train", path, "--out", folder / "list", "-q", code=1)
    return folder / "list"


def test_every_job_with_what_differs(out):
    rows, keys = rows_of(out), set(read_json(out)["keys"])
    assert list(rows) == list(MEMBERS)
    assert keys == {"optimizer.lr", "steps", "batch_size", "eval.early_stop.patience"}
    for name, values in MEMBERS.items():
        assert set(rows[name]["keys"]) == keys
        for key, value in values.items():
            assert rows[name]["keys"][key] == value
    states = {name: row["state"] for name, row in rows.items()}
    assert states == {
        "a": "done", "wild,quoted": "failed", "b": "done", "early": "stopped early",
        "other": "done",
    }  # fmt: skip
    assert "the loss is nan" in rows["wild,quoted"]["error"] and rows["a"]["error"] is None


@pytest.mark.parametrize("name", ["a", "b", "early", "other"])
def test_numbers_are_those_of_the_run(out, name):
    row, run = rows_of(out)[name], JobRun(out / name)
    evals = run.split("eval")
    best = best_of(evals)
    assert row["best"] == {
        "metric": "accuracy", "value": best["accuracy"], "step": best["step"],
        "higher_is_better": True,
    }  # fmt: skip
    last = {key: evals[-1][key] for key in ("step", "loss", "accuracy")}
    assert row["last"] == last
    assert row["step"] == run.rows[-1]["step"] and row["steps"] == MEMBERS[name].get("steps", 9)
    assert row["seconds"] == pytest.approx(run.rows[-1]["time_s"], abs=0.5)
    assert row["folder"].endswith(f"/{name}")


def test_the_table_holds_the_same(out):
    table = read_csv(out)
    assert [line["name"] for line in table] == list(MEMBERS)
    for line, row in zip(table, rows_of(out).values(), strict=True):
        assert line["state"] == row["state"] and line["error"] == (row["error"] or "")
        assert float(line["optimizer.lr"]) == row["keys"]["optimizer.lr"]
        assert int(line["step"]) == row["step"]
        if row["best"]:
            assert float(line["best_value"]) == row["best"]["value"]
            assert int(line["best_step"]) == row["best"]["step"]
            assert float(line["last_loss"]) == row["last"]["loss"]


def test_runs_shows_the_leaderboard_again(out, tmp_path):
    text = run_braid("runs", out).stdout.splitlines()
    names = [line.split()[1] for line in text[1:6]]
    best = {n: best_of(JobRun(out / n).split("eval")) for n in ("a", "b", "early", "other")}
    assert best[names[0]]["accuracy"] == max(row["accuracy"] for row in best.values())
    assert names[-1].startswith("wild") and "the loss is nan" in text[-1]
    again = json.loads(run_braid("runs", out, "--json").stdout)
    strip = ("seconds", "train_loss")
    want = {n: {k: v for k, v in row.items() if k not in strip} for n, row in rows_of(out).items()}
    got = {r["name"]: {k: v for k, v in r.items() if k not in strip} for r in again["runs"]}
    assert got == want
    table = list(csv.DictReader(run_braid("runs", out, "--csv").stdout.splitlines()))
    assert {line["name"] for line in table} == set(MEMBERS)


@pytest.mark.parametrize(
    ("key", "want"),
    [
        ("optimizer.lr", ["early", "a", "other", "b", "wild,quoted"]),
        ("name", ["a", "b", "early", "other", "wild,quoted"]),
    ],
)
def test_any_column_sorts(out, key, want):
    for words, order in (([], want), (["--reverse"], want[::-1])):
        rows = json.loads(run_braid("runs", out, "--json", "--sort", key, *words).stdout)["runs"]
        assert [row["name"] for row in rows] == order
    text = run_braid("runs", out, "--sort", "optimizer.lp", code=2).stderr
    assert "did you mean 'optimizer.lr'" in text
    text = run_braid("runs", out, "--sort", "zebra", code=2).stderr
    assert "there are " in text and "optimizer.lr" in text and "did you mean" not in text


def test_one_run_and_a_folder_of_several(out):
    rows = json.loads(run_braid("runs", out / "a", "--json").stdout)["runs"]
    assert [row["name"] for row in rows] == ["a"] and rows[0]["state"] == "done"
    rows = json.loads(run_braid("runs", out.parent, "--json").stdout)["runs"]
    assert {row["name"] for row in rows} == {f"list/{name}" for name in MEMBERS}
    text = run_braid("runs", out / "a" / "checkpoints", code=2).stderr
    assert "holds no run and no list of jobs" in text


def test_export_takes_the_best_of_all(out, tmp_path):
    rows = {n: best_of(JobRun(out / n).split("eval")) for n in ("a", "b", "early", "other")}
    top = max(row["accuracy"] for row in rows.values())
    to = tmp_path / "best.safetensors"
    text = run_braid("export", out, "--best", "--to", to).stdout
    name = text.split()[1].rstrip(",")
    assert rows[name]["accuracy"] == top and f"step {rows[name]['step']}, best accuracy" in text
    want = load_file(out / name / "checkpoints" / f"step-{rows[name]['step']}/model.safetensors")
    got = load_file(to)
    assert all((got[key] == want[key]).all() for key in want)
    text = run_braid("export", out, "--to", to, code=2).stderr
    assert "holds several jobs" in text and "--best" in text


def wait_for(path, holds, process, seconds=60):
    end = time.monotonic() + seconds
    while time.monotonic() < end and process.poll() is None:
        if path.exists() and holds(json.loads(path.read_text())):
            return
        time.sleep(0.02)
    pytest.fail(f"{path} never said so: {process.communicate()[0]}")


def end_soon(folder):
    """Other steps count over those that the list said."""
    config = folder / "config.yaml"
    last = JobRun(folder).rows[-1]["step"]
    config.write_text(config.read_text().replace("steps: 1000000\n", f"steps: {last + 60}\n"))


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_kept_current_while_running_and_after_a_stop(tmp_path, how):
    """Two arrays: the second waits while the first trains."""
    members = {"a": {"seed": 1}, "b": {"seed": 2}, "later": {"batch_size": 4, "steps": 3}}
    changes = {"steps": 10**6, "checkpoint": {"every": 100}, "eval": BASE["eval"] | {"every": 50}}
    path = write_list(tmp_path / "list.yaml", members, **changes)
    out = tmp_path / "list"
    process = start("train", path, "--out", out, "-q")
    by_name = lambda seen: {row["name"]: row for row in seen["runs"]}  # noqa: E731
    wait_for(out / "results.json", lambda s: by_name(s)["a"]["state"] == "running", process)
    rows = {row["name"]: row for row in json.loads(run_braid("runs", out, "--json").stdout)["runs"]}
    if process.poll() is None:
        assert rows["a"]["state"] in ("running", "done") and rows["later"]["state"] == "waiting"
    wait_for(out / "results.json", lambda s: (by_name(s)["a"]["step"] or 0) > 100, process)
    process.send_signal(how)
    process.communicate()
    rows = {row["name"]: row for row in json.loads(run_braid("runs", out, "--json").stdout)["runs"]}
    assert rows["a"]["state"] == "stopped" and rows["later"]["state"] == "waiting"
    assert rows_of(out)["a"]["state"] == ("stopped" if how == signal.SIGINT else "running")
    for name in ("a", "b"):
        end_soon(out / name)
    run_braid("resume", out, "-q")
    rows = rows_of(out)
    assert [row["state"] for row in rows.values()] == ["done"] * 3
    for name in members:
        run = JobRun(out / name)
        assert rows[name]["step"] == run.rows[-1]["step"] == rows[name]["steps"]
        assert rows[name]["last"]["loss"] == run.evaluation["loss"]


def test_a_folder_without_results(tmp_path):
    """As older versions left it."""
    train_list(tmp_path, {"a": {"seed": 1}, "b": {"seed": 2}})
    out = tmp_path / "list"
    (out / "results.json").unlink()
    (out / "results.csv").unlink()
    rows = json.loads(run_braid("runs", out, "--json").stdout)["runs"]
    assert [row["state"] for row in rows] == ["done", "done"]
    run_braid("resume", out, "-q")
    assert [row["state"] for row in rows_of(out).values()] == ["done", "done"]


def test_results_are_files_of_the_jobs(out):
    for name in ("results.csv", "results.json"):
        text = run_braid("export", out, "--best", "--to", out / name, code=2).stderr
        assert "is a file of the run" in text
