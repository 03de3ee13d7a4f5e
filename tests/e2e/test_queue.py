"""Workers that share a folder: whatever happens to them, every job ends as alone, and no
two of them train the same job at once."""

import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time

import pytest
from braid_run import braid_bin, run_braid
from list_jobs import content, write_base, write_list
from train_jobs import check_message, start

LONG = bool(os.environ.get("BRAID_TEST_LONG"))
LEASE = 10  # nobody waits for it to end where the holder died here
NAMES = [f"m{i}" for i in range(5)]


def make_queue(folder, *words, steps=9, name="out", workers=4, lease=LEASE):
    members = {n: {"seed": i, "steps": steps + i % 3} for i, n in enumerate(NAMES)}
    job = write_list(folder / "list.yaml", members)
    out = folder / name
    run_braid("train", job, "--out", out, f"--queue={workers}", "--lease", lease, *words)
    return out


def start_store(out):
    """What one that was killed left there does not matter."""
    return start("worker", out, "--store", "--host", "127.0.0.1")


def wait_for(is_so, seconds=60):
    until = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < until, "it did not come"
        time.sleep(0.01)


def end(process, code=0, seconds=90):
    text = process.communicate(timeout=seconds)[0]
    assert process.returncode == code, text
    return text


def ticket(out, number):
    path = out / "queue" / f"array-{number}.json"
    return json.loads(path.read_text()) if path.exists() else {"state": "waiting", "lease": 0}


def without_lease(files):
    """Numbers of leases stand in checkpoints of workers alone."""
    return {
        name: re.sub(r'\n *"lease": \d+,', "", text) if name.endswith("meta.json") else text
        for name, text in files.items()
    }


def check_same(out, expected, names=NAMES):
    for name in names:
        got, want = without_lease(content(out / name)), without_lease(content(expected / name))
        assert got.keys() == want.keys(), name
        assert not [key for key in got if got[key] != want[key]], name


def events(out):
    rows = []
    for path in (out / "queue" / "workers").glob("*.jsonl"):
        for line in path.read_text().splitlines():
            rows.append(json.loads(line) | {"worker": path.stem})
    return sorted(rows, key=lambda row: row["boot_s"])


def check_one_at_a_time(out, died):
    """Who takes an array has a higher lease than all before, who had ended, left or died."""
    holders, leases = {}, {}
    for row in events(out):
        array, worker = row["array"], row["worker"]
        if row["event"] == "takes":
            assert row["lease"] > leases.get(array, 0), row
            leases[array] = row["lease"]
            before = holders.get(array)
            is_free = before is None or died.get(before.split("-")[-3], 1e30) <= row["boot_s"]
            assert is_free, (before, row)
            holders[array] = worker
        elif holders.get(array) == worker:
            holders[array] = None


def now_s():
    return time.clock_gettime(time.CLOCK_BOOTTIME)


@pytest.fixture(name="whole", scope="module")
def train_whole(tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole")
    members = {n: {"seed": i, "steps": 9 + i % 3} for i, n in enumerate(NAMES)}
    job = write_list(folder / "list.yaml", members)
    run_braid("train", job, "--out", folder / "out", "--arrays", "off", "-q")
    return folder / "out"


def test_workers_end_all_jobs_with_the_bits_of_one_process(tmp_path, whole):
    out = make_queue(tmp_path, "--arrays", "off")
    store = start_store(out)
    workers = [start("worker", out) for _ in range(3)]
    texts = [end(worker) for worker in workers]
    assert sum(int(t.split("done   ")[1].split()[0]) for t in texts) == len(NAMES)
    assert "5 of 5 arrays have ended" in end(store)
    assert not (out / "queue" / "store.json").exists()
    check_same(out, whole)
    check_one_at_a_time(out, {})
    runs = json.loads((out / "results.json").read_text())["runs"]
    assert [run["state"] for run in runs] == ["done"] * 5
    # Who comes when all is done needs no store.
    assert "had ended before" in run_braid("worker", out).stdout


def test_arrays_are_made_for_as_many_workers(tmp_path):
    members = {f"m{i}": {"seed": i} for i in range(4)}
    job = write_list(tmp_path / "list.yaml", members)
    run_braid("train", job, "--out", tmp_path / "expected", "--devices", 2, "threads=1", "-q")
    out = tmp_path / "out"
    text = run_braid("train", job, "--out", out, "--queue=2", "threads=1").stdout
    assert "4 jobs in 2 arrays" in text
    store = start_store(out)
    end(start("worker", out))
    end(store)
    check_same(out, tmp_path / "expected", members)


def test_workers_that_are_killed(tmp_path, whole):
    generator = random.Random(7)
    died, killed = {}, 0
    for trial in range(50 if LONG else 1):
        out = make_queue(tmp_path, "--arrays", "off", name=f"out-{trial}")
        store = start_store(out)
        workers = [start("worker", out, "-q") for _ in range(4)]
        while killed < 2 * (trial + 1) and any(w.poll() is None for w in workers):
            time.sleep(generator.uniform(0.05, 0.8))
            chosen = generator.randrange(len(workers))
            died[str(workers[chosen].pid)] = now_s()  # or a moment later
            workers[chosen].kill()
            workers[chosen].communicate()
            killed += workers[chosen].returncode == -signal.SIGKILL
            workers[chosen] = start("worker", out, "-q")
        for worker in workers:
            end(worker)
        end(store)
        check_same(out, whole)
        check_one_at_a_time(out, died)
        shutil.rmtree(out)


def test_a_worker_that_comes_back_late_writes_nothing(tmp_path):
    out = make_queue(tmp_path, steps=10**6, workers=1, lease=2)
    store = start_store(out)
    late = start("worker", out)
    wait_for(lambda: len(list(out.glob("*/checkpoints/step-*"))) >= 1)
    late.send_signal(signal.SIGSTOP)
    other = start("worker", out)
    wait_for(lambda: ticket(out, 0)["lease"] == 2)
    first = ticket(out, 0)
    wait_for(lambda: len([e for e in events(out) if e["event"] == "takes"]) >= 2)
    late.send_signal(signal.SIGCONT)
    wait_for(lambda: any(e["event"] == "loses" for e in events(out)))
    assert ticket(out, 0)["worker"] == first["worker"]
    late.send_signal(signal.SIGINT)
    text = end(late, code=130)
    assert "lost" in text, text
    other.send_signal(signal.SIGINT)
    text = end(other, code=130)
    assert "everything is saved" in text
    store.send_signal(signal.SIGINT)
    end(store, code=130)
    assert ticket(out, 0)["state"] == "waiting"
    # What a lost lease wrote would stand beside a higher number.
    array = out / "array-0" / "checkpoints"
    newest = max(array.iterdir(), key=lambda path: int(path.name.split("-")[1]))
    assert json.loads((newest / "meta.json").read_text())["lease"] == 2


def test_without_a_store_workers_stop_and_go_on_later(tmp_path):
    out = make_queue(tmp_path, steps=10**6, workers=1, lease=1)
    done = run_braid("worker", out, code=1)
    check_message(done.stderr, ["nobody keeps a store", "HINT: run 'braid worker", "--store"])
    store = start_store(out)
    worker = start("worker", out)
    wait_for(lambda: len(list(out.glob("*/checkpoints/step-*"))) >= 1)
    store.kill()
    store.communicate()
    text = end(worker, code=1)
    assert "lost m0" in text and "does not answer" in text, text
    assert [event["event"] for event in events(out)][-1] == "loses"
    store = start_store(out)
    worker = start("worker", out)
    wait_for(lambda: ticket(out, 0)["lease"] == 2)
    worker.send_signal(signal.SIGINT)
    text = end(worker, code=130)
    assert "going on after step" in text, text
    store.send_signal(signal.SIGINT)
    end(store, code=130)


def test_a_folder_that_goes_away_and_comes_back(tmp_path):
    out = make_queue(tmp_path, steps=10**6, workers=1)
    store = start_store(out)
    worker = start("worker", out)
    wait_for(lambda: len(list(out.glob("*/checkpoints/step-*"))) >= 1)
    out.rename(tmp_path / "elsewhere")
    text = end(worker, code=1)
    assert "is gone" in text and "HINT" in text, text
    end(store, code=1)
    (tmp_path / "elsewhere").rename(out)
    again = run_braid("runs", out)
    assert "m0" in again.stdout
    store = start_store(out)
    worker = start("worker", out)
    wait_for(lambda: ticket(out, 0)["state"] == "taken" and ticket(out, 0)["lease"] >= 2)
    runs = json.loads(run_braid("runs", out, "--json").stdout)["runs"]
    assert "running" in {run["state"] for run in runs}, runs
    done = run_braid("resume", out, code=1)  # workers have it
    check_message(done.stderr, ["another run writes", "HINT"])
    for process in (worker, store):
        process.send_signal(signal.SIGINT)
        end(process, code=130)


def test_jobs_that_fail_fail_alone(tmp_path):
    good = write_base(tmp_path / "good.yaml")
    hot = write_base(tmp_path / "hot.yaml", optimizer={"kind": "sgd", "lr": 1e30})
    big = write_base(tmp_path / "big.yaml", memory_limit="8KiB")
    out = tmp_path / "out"
    run_braid("train", good, hot, big, "--out", out, "--queue", "--lease", LEASE, "--arrays", "off")
    store = start_store(out)
    text = end(start("worker", out), code=1)
    assert "[braid worker] hot: the loss is" in text and "8192 B" in text, text
    end(store)
    runs = json.loads(run_braid("runs", out, "--json").stdout)["runs"]
    states = {run["name"]: run["state"] for run in runs}
    assert states == {"good": "done", "hot": "failed", "big": "failed"}
    # One process goes on with what workers left, and asks for failures again.
    done = run_braid("resume", out, "-q", code=1)
    assert "big" in done.stderr


def test_torchrun_keeps_the_store_and_starts_workers_again(tmp_path, whole):
    out = make_queue(tmp_path, "--arrays", "off")
    command = [sys.executable, "-m", "torch.distributed.run", "--no-python", "--standalone"]
    command += ["--nproc-per-node", "2", "--max-restarts", "3", braid_bin(), "worker", str(out)]
    launcher = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    wait_for(lambda: (out / "queue" / "workers").exists() and events(out))
    first = int(events(out)[0]["worker"].split("-")[-3])
    os.kill(first, signal.SIGKILL)
    text = end(launcher, seconds=120)
    assert "done   " in text
    check_same(out, whole)
    assert {row["worker"].split("-")[-3] for row in events(out)} - {str(first)}


ERRORS = {
    "no queue": (["worker", "plain"], ["holds no queue of jobs", "HINT: 'braid train"]),
    "no folder": (["worker", "nowhere"], ["nowhere", "HINT: 'braid train"]),
    "no address": (["worker", "out", "--at", "host"], ["'host' is no address", "HOST:PORT"]),
    "no port": (["worker", "out", "--at", "host:http"], ["'host:http' is no address"]),
    "a high port": (["worker", "out", "--at", "host:99999"], ["'host:99999' is no address"]),
    "a port without a store": (["worker", "out", "--port", "1"], ["are for --store"]),
    "a high port of the store": (
        ["worker", "out", "--store", "--port", "70000"], ["--port", "0 to 65535"],
    ),
    "a store that trains": (
        ["worker", "out", "--store", "--device", "cpu:1"], ["--store", "--device"],
    ),
    "an unknown device": (["worker", "out", "--at", "h:1", "--device", "tpu"], ["tpu"]),
    "no bytes": (["worker", "out", "--at", "h:1", "--memory-limit", "much"], ["'much'"]),
    "devices of a queue": (
        ["train", "a.yaml", "--out", "new", "--queue", "--devices", "2"],
        ["--queue", "workers", "HINT"],
    ),
    "a policy of a queue": (
        ["train", "a.yaml", "--out", "new", "--queue", "--policy", "srtf"], ["--queue"],
    ),
    "a lease without a queue": (["train", "a.yaml", "--out", "new", "--lease", "3"], ["--lease"]),
    "a short lease": (
        ["train", "a.yaml", "--out", "new", "--queue", "--lease", "0"], ["--lease", "0.5"],
    ),
    "fewer than none": (["train", "a.yaml", "--out", "new", "--queue=-2"], ["--queue", "-2"]),
    "twice": (["train", "a.yaml", "--out", "out", "--queue"], ["out"]),
}  # fmt: skip


@pytest.fixture(name="folder", scope="module")
def make_folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("errors")
    write_base(folder / "a.yaml")
    run_braid("train", "a.yaml", "--out", "out", "--queue", cwd=folder)
    run_braid("train", "a.yaml", "--out", "plain", "-q", cwd=folder)
    return folder


@pytest.mark.parametrize("name", ERRORS)
def test_wrong_words_are_named(folder, name):
    words, parts = ERRORS[name]
    if name == "twice":  # nothing was saved there, so it may be written again
        run_braid(*words, cwd=folder)
        return
    done = run_braid(*words, code=2, cwd=folder)
    check_message(done.stderr, parts)
    assert not (folder / "new").exists()


def test_broken_files_of_a_queue_are_named(tmp_path):
    out = make_queue(tmp_path)
    (out / "queue" / "array-0.json").write_text("{")
    done = run_braid("runs", out, code=1)
    check_message(done.stderr, ["array-0.json", "HINT: delete it"])
    (out / "queue" / "array-0.json").unlink()
    (out / "queue" / "queue.json").write_text("[]")
    done = run_braid("worker", out, "--at", "127.0.0.1:9", code=1)
    check_message(done.stderr, ["queue.json"])
    out = make_queue(tmp_path, name="unreachable")
    done = run_braid("worker", out, "--at", "127.0.0.1:9", code=1)
    check_message(done.stderr, ["127.0.0.1:9 does not answer"])
