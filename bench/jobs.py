"""Jobs that share devices: whether copies are hidden, and whether all cores work.

- turns: twelve GPT-2-shaped jobs with AdamW, each of four times the bytes of the device, over
  a bus that is throttled so that copies take about as long as the computation: one after
  another without prefetch, with it, and several at once (bench/jobs.cpp); beside the greater
  of what was computed and copied, and beside what was predicted;
- cores: a list of equal jobs on one device that has all cores, on a device per core, and in
  a process per core, interleaved; seconds of training, and ratios to the processes.

    scripts/bench.sh jobs            (or: bench/jobs.py turns|cores ...)
"""

import json
import os
import statistics
import subprocess
import sys

from _report import BUILD, run_parts

CORES = os.cpu_count()
ROUNDS = 5

TURNS = (
    "model: gpt2(batch=4,length=64,positions=64,vocab=512,width=128,heads=4,layers=16)\n"
    "data: {source: arithmetic, length: 64, count: 4000}\noptimizer: adamw\n"
    "batch_size: 4\nsteps: 10000\nthreads: 1\neval: {limit: 4}\n"
)
# Name, number of jobs, steps, job.
CASES = [
    ("tiny MLP", 64, 3000, "model: 'mlp(hidden=32,layers=3)'\n"
     "data: {source: csv, file: table.csv}\noptimizer: adamw\nbatch_size: 16\n"),
    ("LeNet", 16, 60, "model: lenet\ndata: {source: glyphs, count: 2000}\noptimizer: adamw\n"
     "batch_size: 32\n"),
    ("small LM", 16, 40, "model: transformer(width=64,layers=2)\n"
     "data: {source: arithmetic, count: 2000, length: 32}\noptimizer: adamw\nbatch_size: 16\n"),
]  # fmt: skip


def turns(bench):
    bench.say("one device, jobs of four times its bytes")
    job = bench.folder / "job.yaml"
    job.write_text(TURNS)
    bench.say_output(BUILD / "bench" / "jobs", job, "12", "30")


def write_table(path):
    rows = [",".join(f"{(i * k) % 17 / 17:.4f}" for k in range(3, 19)) for i in range(1024)]
    path.write_text("".join(f"{row},{i % 4}\n" for i, row in enumerate(rows)))


def members(first, count):
    return "members: [" + ", ".join(f"{{seed: {first + i}}}" for i in range(count)) + "]\n"


class List:
    """A list of jobs as a process; its seconds are those that its jobs trained."""

    def __init__(self, bench, text, *words):
        bench.count += 1
        job = bench.folder / f"job-{bench.count}.yaml"
        job.write_text(text)
        self.out = bench.folder / f"out-{bench.count}"
        command = [BUILD / "braid", "train", job, "--out", self.out, "-q", *words]
        self.process = subprocess.Popen(
            list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )

    def seconds(self):
        text = self.process.communicate()[0]
        if self.process.returncode:
            sys.exit(text)
        runs = json.loads((self.out / "results.json").read_text())["runs"]
        return max(run["seconds"] for run in runs)

    def arrays(self):
        return [len(a) for a in json.loads((self.out / "jobs.json").read_text())["arrays"]]


def cores(bench):
    bench.say(f"equal jobs on {CORES} cores: seconds of training, medians of {ROUNDS} rounds")
    bench.say(f"  {'':10} {'jobs':>5} {'one device':>11} {'devices':>9} {'processes':>10}"
              f" {'devices / processes':>20} {'devices / one':>14}  arrays")  # fmt: skip
    write_table(bench.folder / "table.csv")
    for name, count, steps, job in CASES:
        text = f"{job}steps: {steps}\nlog_every: {steps}\ncheckpoint: {{every: 0}}\n"
        part = count // CORES
        taken = {"one": [], "devices": [], "processes": []}
        for _ in range(ROUNDS):
            one = List(bench, text + members(0, count))
            taken["one"].append(one.seconds())
            devices = List(bench, text + members(0, count), "--devices", CORES)
            taken["devices"].append(devices.seconds())
            own = [
                List(bench, text + members(part * i, part), "threads=1") for i in range(CORES)
            ]
            taken["processes"].append(max(process.seconds() for process in own))
        middle = {way: statistics.median(seconds) for way, seconds in taken.items()}

        def ratio(a, b, taken=taken):
            return statistics.median(x / y for x, y in zip(taken[a], taken[b], strict=True))

        bench.say(
            f"  {name:10} {count:5} {middle['one']:11.3f} {middle['devices']:9.3f}"
            f" {middle['processes']:10.3f} {ratio('devices', 'processes'):20.3f}"
            f" {ratio('devices', 'one'):14.3f}  {devices.arrays()}"
        )


PARTS = {"turns": turns, "cores": cores}


if __name__ == "__main__":
    run_parts("jobs", PARTS)
