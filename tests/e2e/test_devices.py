"""Jobs that share devices end as alone, whatever goes first and wherever they train."""

import json
import os
import random
import signal
import time

import pytest
from braid_run import run_braid
from list_jobs import BASE, content, differences, write_base, write_list
from train_jobs import check_message, kill_at_random_moments, start

LONG = bool(os.environ.get("BRAID_TEST_LONG"))
POLICIES = ["lrtf", "srtf", "fifo", "priority", "deadline", "fair", "random", "hydra"]

WIDE = {
    "model": "transformer(width=32,layers=3,dropout=0.1)",
    "data": {"source": "arithmetic", "count": 44, "length": 12},
    "eval": None,
    "accumulate": 2,
}
GAN = {
    "model": None,
    "optimizer": None,
    "eval": None,
    "networks": {
        "generator": {
            "model": {"name": "dcgan_generator", "channels": 1, "side": 32, "width": 2, "latent": 8}
        },
        "discriminator": {
            "model": {"name": "dcgan_discriminator", "channels": 1, "side": 32, "width": 2}
        },
    },
    "phases": [
        {
            "learns": "discriminator",
            "loss": "bce(discriminator(x), 1) + bce(discriminator(detach(generator(z))), 0)",
        },
        {"learns": "generator", "loss": "bce(discriminator(generator(z)), 1)"},
    ],
    "noise": {"z": {"shape": [8, 1, 1], "kind": "normal"}},
    "data": {"source": "glyphs", "count": 20, "size": 32},
}
LIMIT = "640KiB"  # the wide ones need more


def write_mixed(folder):
    """Ten jobs of four files: arrays, models that do not fit, a GAN."""
    wide = {f"w{i}": {"seed": i, "deadline": 5 + i} for i in range(3)}
    small = {f"s{i}": {"optimizer.lr": 10.0**-i, "priority": i % 3} for i in range(1, 5)}
    files = [
        write_list(folder / "wide.yaml", wide, **WIDE),
        write_list(folder / "small.yaml", small),
        write_list(folder / "gan.yaml", {"g0": {"seed": 1}, "g1": {"seed": 2}}, **GAN),
        write_base(folder / "deep.yaml", steps=14, ema=0.9),
    ]
    names = [f"wide-{n}" for n in wide] + [f"small-{n}" for n in small]
    return files, [*names, "gan-g0", "gan-g1", "deep"]


@pytest.fixture(name="mixed", scope="module")
def train_mixed(tmp_path_factory):
    """The files, and the folders of all jobs as each is alone, and as on one device."""
    folder = tmp_path_factory.mktemp("mixed")
    files, names = write_mixed(folder)
    words = ["--memory-limit", LIMIT, "-q", "deadline=9"]
    run_braid("train", *files, "--devices", 1, "--out", folder / "one", *words)
    run_braid("train", *files, "--devices", 1, "--out", folder / "off", "--arrays", "off", *words)
    for name in names:
        config = folder / "off" / name / "config.yaml"
        run_braid("train", config, "--out", folder / "alone" / name, "-q")
    return folder, files, names


def check_same(out, expected, names):
    for name in names:
        assert not differences(content(out / name), content(expected / name)), name


def test_without_arrays_each_has_the_bits_of_a_job_alone(mixed):
    folder, _, names = mixed
    check_same(folder / "off", folder / "alone", names)


CASES = [
    (policy, devices, at_once)
    for policy in POLICIES
    for devices in (1, 2, 4)
    for at_once in (None, 1, 2)
]
if not LONG:
    CASES = random.Random(int(os.environ.get("BRAID_TEST_SEED", "0"))).sample(CASES, 5)


@pytest.mark.parametrize("policy, devices, at_once", CASES)
def test_any_policy_and_any_devices_give_the_same_bits(mixed, tmp_path, policy, devices, at_once):
    folder, files, names = mixed
    words = ["--memory-limit", LIMIT, "--policy", policy, "--quantum", 0, "--arrays", "off"]
    words += ["--at-once", at_once] if at_once else []
    text = run_braid(
        "train", *files, "deadline=9", "--devices", devices, "--out", tmp_path / "out", *words
    ).stdout
    assert "share  10 arrays on" in text
    check_same(tmp_path / "out", folder / "off", names)


def test_arrays_have_the_bits_that_they_have_on_one_device(mixed, tmp_path):
    folder, files, names = mixed
    out = tmp_path / "out"
    words = ["--memory-limit", LIMIT, "--quantum", 0.05, "-q", "deadline=9"]
    run_braid("train", *files, "--devices", "cpu:0-1", "--out", out, *words)
    arrays = {where: json.loads((where / "jobs.json").read_text())["arrays"]
              for where in (out, folder / "one")}
    same = [a for a in arrays[out] if a in arrays[folder / "one"]]
    assert same
    all_names = [job["name"] for job in json.loads((out / "jobs.json").read_text())["jobs"]]
    assert sorted(all_names) == sorted(names)
    check_same(out, folder / "one", [all_names[i] for a in same for i in a])


def test_two_devices_share_a_list_of_equal_jobs(tmp_path):
    job = write_list(tmp_path / "list.yaml", {f"m{i}": {"seed": i} for i in range(8)})
    run_braid("train", job, "--devices", 2, "--out", tmp_path / "out", "-q")
    arrays = json.loads((tmp_path / "out" / "jobs.json").read_text())["arrays"]
    assert arrays == [[0, 1, 2, 3], [4, 5, 6, 7]]


def test_a_trace_has_a_track_for_each_stream_of_each_device(mixed, tmp_path):
    _, files, _ = mixed
    words = ["--devices", 2, "--at-once", 2, "--memory-limit", LIMIT, "--arrays", "off"]
    trace = tmp_path / "trace.json"
    run_braid("train", *files[:2], "--out", tmp_path / "out", *words, "--trace", trace, "-q")
    events = json.loads(trace.read_text())
    tracks = {e["tid"]: e["args"]["name"] for e in events if e["name"] == "thread_name"}
    spans = [e | {"track": tracks[e["tid"]]} for e in events if e["ph"] == "X"]
    assert {"cpu compute", "cpu:1 compute", "cpu h2d"} <= {e["track"] for e in spans}
    assert {e["name"] for e in spans} > {"wide-w0", "small-s1"}
    for track in set(tracks.values()):  # one thing at a time
        own = sorted((e["ts"], e["ts"] + e["dur"]) for e in spans if e["track"] == track)
        if track.endswith("compute"):
            assert all(a[1] <= b[0] + 1 for a, b in zip(own, own[1:], strict=False))


def test_a_job_that_fails_fails_alone(tmp_path):
    good = write_list(tmp_path / "good.yaml", {"a": {}, "b": {"seed": 5}})
    hot = write_base(tmp_path / "hot.yaml", optimizer={"kind": "sgd", "lr": 1e30})
    big = write_base(tmp_path / "big.yaml", **WIDE | {"model": "transformer(width=512)"})
    out = tmp_path / "out"
    done = run_braid(
        "train", good, hot, big, "--devices", 2, "--memory-limit", "4MiB", "--out", out, code=1
    )
    assert "[braid train] big: " in done.stderr and "4.00 MiB" in done.stderr
    assert "[braid train] hot: the loss is" in done.stderr
    states = {r["name"]: r["state"] for r in json.loads((out / "results.json").read_text())["runs"]}
    assert states == {"good-a": "done", "good-b": "done", "hot": "failed", "big": "failed"}


@pytest.fixture(name="whole", scope="module")
def train_whole(tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole")
    members = {f"m{i}": {"seed": i, "steps": 9 + i % 3} for i in range(6)}
    job = write_list(folder / "list.yaml", members)
    begun = time.monotonic()
    run_braid(*shared(job, folder / "out"), "-q")
    return job, folder / "out", list(members), time.monotonic() - begun


def shared(job, out):
    words = ["--devices", 2, "--at-once", 2, "--quantum", 0, "--arrays", "off"]
    if (out / "jobs.json").exists():
        return ["resume", out]
    return ["train", job, "--out", out, *words]


def test_killed_at_random_moments(tmp_path, whole):
    job, expected, names, whole_s = whole
    kill_at_random_moments(
        tmp_path, lambda out: shared(job, out), lambda out: check_same(out, expected, names),
        whole_s, kills=100 if LONG else 4, seed="devices",
    )  # fmt: skip


def test_stopped_and_on_other_devices(tmp_path, whole):
    names, out = whole[2], tmp_path / "out"
    members = {name: {"seed": i, "steps": 10**6} for i, name in enumerate(names)}
    endless = write_list(tmp_path / "endless.yaml", members)
    process = start(*shared(endless, out))
    while len({path.parts[-3] for path in out.glob("m*/checkpoints/step-*")}) < 4:
        assert process.poll() is None, process.communicate()[0]
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    text = process.communicate()[0]
    assert process.returncode == 130 and "everything is saved" in text, text
    states = json.loads((out / "results.json").read_text())["runs"]
    assert {job["state"] for job in states} <= {"stopped", "waiting"}
    last = max(job["step"] for job in states)
    text = run_braid("resume", out, f"steps={last + 9}", "--devices", 1, "--policy", "srtf").stdout
    assert "share  6 arrays on cpu" in text
    folder = json.loads((out / "jobs.json").read_text())
    assert folder["devices"]["devices"] == ["cpu"] and folder["devices"]["policy"] == "srtf"
    states = json.loads((out / "results.json").read_text())["runs"]
    assert {(job["state"], job["step"]) for job in states} == {("done", last + 9)}


TWO = ["a.yaml", "b.yaml"]
ERRORS = {
    "no number": ([*TWO, "--devices", "two"], ["'two' names no devices", "HINT: write a number"]),
    "none": ([*TWO, "--devices", "0"], ["'0' names no devices"]),
    "too many": ([*TWO, "--devices", "1000"], ["'1000' names no devices"]),
    "an empty part": ([*TWO, "--devices", "cpu:0,"], ["'cpu:0,' names no devices"]),
    "an unknown kind": ([*TWO, "--devices", "tpu:0"], ["'tpu:0' names no devices"]),
    "no index": ([*TWO, "--devices", "cpu:x"], ["'cpu:x' names no devices"]),
    "backwards": ([*TWO, "--devices", "cpu:3-1"], ["'cpu:3-1' names no devices"]),
    "twice": ([*TWO, "--devices", "cpu:1,cpu:0-2"], ["'cpu:1' stands there twice"]),
    "too high": ([*TWO, "--devices", "cpu:999"], ["there is no 'cpu:999'"]),
    "no bytes": ([*TWO, "--memory-limit", "lots"], ["--memory-limit", "'lots'", "512MiB"]),
    "zero bytes": ([*TWO, "--memory-limit", "0"], ["memory limit"]),
    "an unknown policy": ([*TWO, "--policy", "best"], ["'best'", "lrtf"]),
    "no deadline": ([*TWO, "--policy", "deadline"], ["deadline", "job"]),
    "none at once": ([*TWO, "--at-once", "0"], ["--at-once", "1 or more"]),
    "many at once": ([*TWO, "--at-once", "99"], ["1 to 8 jobs at once, got 99"]),
    "half a job": ([*TWO, "--at-once", "1.5"], ["--at-once", "1.5"]),
    "a quantum before 0": ([*TWO, "--quantum=-1"], ["quantum", "-1"]),
    "no quantum": ([*TWO, "--quantum", "soon"], ["--quantum", "soon"]),
    "neither on nor off": ([*TWO, "--arrays", "maybe"], ["--arrays", "maybe"]),
    "a negative deadline": ([*TWO, "deadline=-3"], ["deadline", "-3"]),
    "a priority in words": ([*TWO, "priority=high"], ["priority", "high"]),
    "one job on two": (["a.yaml", "--devices", "2"], ["a single job", "HINT"]),
    "one job with a policy": (["a.yaml", "--policy", "lrtf"], ["a single job", "HINT"]),
    "one folder": (["a.yaml", "sub/a.yaml", "--devices", "2"], ["a"]),
    "an unknown device alone": (["a.yaml", "--devices", "tpu:1"], ["tpu:1"]),
}


@pytest.mark.parametrize("name", ERRORS)
def test_wrong_words_are_named(tmp_path, name):
    words, parts = ERRORS[name]
    (tmp_path / "sub").mkdir()
    for path in ("a.yaml", "b.yaml", "sub/a.yaml"):
        write_base(tmp_path / path)
    code = 0 if name == "one folder" else 2
    done = run_braid("train", *words, "--out", "out", code=code, cwd=tmp_path)
    if code == 0:  # names are made different
        assert len(list((tmp_path / "out").glob("*/config.yaml"))) == 2
        return
    check_message(done.stderr, parts)
    assert not (tmp_path / "out").exists()


def test_a_limit_that_is_too_small_names_the_job_and_its_bytes(tmp_path):
    write_base(tmp_path / "a.yaml")
    write_base(tmp_path / "b.yaml", model="lenet(side=14,classes=9)")
    done = run_braid(
        "train", "a.yaml", "b.yaml", "--memory-limit", "8KiB", "--out", "out", code=1, cwd=tmp_path
    )
    assert "8192 B" in done.stderr and "HINT" in done.stderr


def test_resume_keeps_which_jobs_train_together(tmp_path, whole):
    _, out, _, _ = whole
    done = run_braid("resume", out, "--arrays", "off", code=2)
    assert "stays as it was" in done.stderr


def test_a_single_job_takes_a_device_and_a_limit(tmp_path):
    job = write_base(tmp_path / "job.yaml", **{k: BASE[k] for k in ("model",)})
    out = tmp_path / "out"
    run_braid("train", job, "--devices", "cpu:1", "--memory-limit", "64MiB", "--out", out, "-q")
    text = (out / "config.yaml").read_text()
    assert "device: cpu:1" in text and "memory_limit: 64MiB" in text


def test_plans_tell_what_would_run_where(mixed, tmp_path):
    _, files, _ = mixed
    words = [*files, "--devices", 2, "--memory-limit", LIMIT, "--arrays", "off"]
    text = run_braid("plan", *words, "--svg", tmp_path / "gantt.svg").stdout
    assert text.startswith("share  10 arrays on 2 devices")
    lines = text.splitlines()
    assert sum(line.startswith(("cpu  ", "cpu:1  ")) for line in lines) == 4
    assert sum("parts are moved or recomputed" in line for line in lines) >= 3
    assert [line.split()[1] for line in lines if line.startswith("on ")] == ["1", "2", "4", "8"]
    assert (tmp_path / "gantt.svg").read_text().startswith("<svg")
    answer = json.loads(run_braid("plan", *words, "--json").stdout)
    assert answer["least_s"] <= answer["makespan_s"] * (1 + 1e-9)
    by_devices = list(answer["by_devices"].values())
    assert by_devices == sorted(by_devices, reverse=True)
    assert all(work["device_bytes"] <= 640 * 1024 for work in answer["works"])
    assert not (tmp_path / "out").exists()


def test_plans_name_what_does_not_fit(tmp_path):
    write_base(tmp_path / "a.yaml")
    write_base(tmp_path / "b.yaml", **WIDE | {"model": "transformer(width=512)"})
    done = run_braid(
        "plan", "a.yaml", "b.yaml", "--devices", 1, "--memory-limit", "4MiB", code=1, cwd=tmp_path
    )
    assert "does not fit" in done.stdout and "4.00 MiB" in done.stderr
