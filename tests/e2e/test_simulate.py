"""`braid simulate`: its table, its files and its errors."""

import csv
import heapq
import json
import random

import pytest
from braid_run import run_braid


@pytest.fixture(name="simulate")
def simulate_in(tmp_path):
    def call(*words, code=0, **files):
        for name, text in files.items():
            (tmp_path / name.replace("_", ".")).write_text(text)
        return run_braid("simulate", *words, code=code, cwd=tmp_path)

    return call


def table(jobs):
    lines = [f"{name},{submit},{duration},{devices}" for name, submit, duration, devices in jobs]
    return "job,submit,duration,devices\n" + "\n".join(lines) + "\n"


def first_come(jobs, devices):
    """Ends of jobs on one device each, in the order of arrival."""
    free = [0.0] * devices
    heapq.heapify(free)
    ends = []
    for _, submit, duration, _ in sorted(jobs, key=lambda job: job[1]):
        begin = max(heapq.heappop(free), submit)
        heapq.heappush(free, begin + duration)
        ends.append(begin + duration)
    return ends


def test_fifo_is_what_a_queue_does(simulate, tmp_path):
    draw = random.Random(4)
    jobs = [(f"j{i}", round(draw.uniform(0, 500), 3), draw.randint(1, 300), 1) for i in range(120)]
    done = simulate(
        "--devices", 7, "--trace", "jobs.csv", "--policy", "fifo", "--csv", "out.csv", "--json",
        jobs_csv=table(jobs),
    )  # fmt: skip
    first = min(job[1] for job in jobs)
    ends = sorted(end - first for end in first_come(jobs, 7))
    with open(tmp_path / "out.csv", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert sorted(float(row["end_s"]) for row in rows) == pytest.approx(ends)
    report = json.loads(done.stdout)["policies"][0]
    assert report["makespan_s"] == pytest.approx(ends[-1])
    mean = sum(ends) - sum(job[1] - first for job in jobs)
    assert report["completion"]["mean_s"] == pytest.approx(mean / len(jobs))
    work = sum(job[2] for job in jobs)
    assert report["busy"] == pytest.approx(work / (7 * ends[-1]))


def test_the_same_input_gives_the_same_bytes(simulate, tmp_path):
    words = ["--devices", 24, "--jobs", 300]
    words += ["--policy", "lrtf,srtf,fifo,priority,deadline,fair,random,hydra"]

    def run(seed):
        done = simulate(*words, "--seed", seed, "--csv", "a.csv", "--svg", "a.svg")
        return done.stdout, (tmp_path / "a.csv").read_text(), (tmp_path / "a.svg").read_text()

    _, _, picture = run(5)
    assert run(5) == run(5)
    assert run(5) != run(6)
    assert picture.startswith("<svg") and picture.count("<polyline") == 8


def test_no_policy_is_below_the_bound(simulate):
    report = json.loads(simulate("--devices", 30, "--jobs", 200, "--json").stdout)
    for policy in report["policies"]:
        assert policy["makespan_s"] >= report["lower_bound_s"]
        assert 0 < policy["busy"] <= 1


GOOD = table([("a", 0, 5, 1)])
WRONG = [
    ([], {}, "--cluster FILE or --devices N"),
    (["--devices", 4, "--cluster", "c.yaml"], {}, "--cluster FILE or --devices N"),
    (["--devices", 0], {}, "1 to 1000000"),
    (["--devices", "many"], {}, "not a whole number"),
    (["--devices", 4, "--policy", "lrft"], {}, "did you mean 'lrtf'"),
    (["--devices", 4, "--policy", ""], {}, "no policy ''"),
    (["--devices", 4, "--jobs", 0], {}, "1 to 10000000"),
    (["--devices", 4, "--fuse", 0], {}, "--fuse"),
    (["--devices", 4, "--further", -1], {}, "--further"),
    (["--devices", 4, "--trace", "jobs.csv", "--jobs", 3], {"jobs_csv": GOOD}, "--jobs"),
    (["--devices", 4, "--trace", "jobs.csv", "--format", "slurm"], {"jobs_csv": GOOD}, "'slurm'"),
    (["--devices", 4, "--trace", "jobs.csv", "--policy", "deadline"], {"jobs_csv": GOOD},
     "job 1 ('a') has none"),
    (["--devices", 4, "--trace", "jobs.csv"], {"jobs_csv": table([("a", 0, 5, 9)])}, "wants 9"),
    (["--cluster", "c.yaml"], {"c_yaml": "devices: [{count: 4}]\nquantm: 3\n"}, "c.yaml line 2"),
    (["--cluster", "c.yaml"], {"c_yaml": "devices: [{count: -4}]\n"}, "c.yaml line 1"),
    (["--cluster", "c.yaml"], {"c_yaml": "devices: [\n"}, "c.yaml"),
    (["--cluster", "c.yaml"], {"c_yaml": "devices: [{count: 4}]\nload: {jobs: 0}\n"}, "line 2"),
]  # fmt: skip
BROKEN = [
    (["--devices", 4, "--trace", "none.csv"], {}, "none.csv"),
    (["--devices", 4, "--trace", "jobs.csv"], {"jobs_csv": GOOD + "b,x,5,1\n"}, "line 3"),
    (["--devices", 4, "--trace", "jobs.csv"], {"jobs_csv": GOOD + "b,1,5\n"}, "line 3"),
    (["--devices", 4, "--trace", "jobs.csv"], {"jobs_csv": "job,duration\na,1\n"}, "'submit'"),
    (["--devices", 4, "--trace", "jobs.csv"], {"jobs_csv": ""}, "no job in it"),
    (["--devices", 4, "--trace", "jobs.csv", "--format", "philly"], {"jobs_csv": "{}"}, "JSON"),
]


@pytest.mark.parametrize(("words", "files", "part"), WRONG)
def test_wrong_usage_has_one_message(simulate, words, files, part):
    done = simulate(*words, code=2, **files)
    assert part in done.stderr and not done.stdout


@pytest.mark.parametrize(("words", "files", "part"), BROKEN)
def test_broken_files_have_one_message(simulate, words, files, part):
    done = simulate(*words, code=1, **files)
    assert part in done.stderr and not done.stdout
