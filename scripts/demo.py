"""The demo: a sweep as an array, beside the same models one after another.

Two rounds of timed steps come before the sweep and two after it, in each PyTorch
eager and Braid alone in turn, so that a machine that gets slower meanwhile slows
all of them. Only steps are timed of those; of the sweep everything is, also its
start, its evaluations and its checkpoints.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional as F

JOB = Path("examples") / "sweep_lenet.yaml"
BATCH, CLASSES, BLOCK, ROUNDS = 64, 10, 5, 2  # as the job; steps timed as one


class LeNet(nn.Module):
    """Braid's `lenet` by the same names."""

    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 6, 5, padding=2)
        self.conv2 = nn.Conv2d(6, 16, 5)
        self.fc1 = nn.Linear(400, 120)
        self.fc2 = nn.Linear(120, 84)
        self.fc3 = nn.Linear(84, CLASSES)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2).flatten(1)
        return self.fc3(F.relu(self.fc2(F.relu(self.fc1(x)))))


def eager_seconds(steps):
    """Seconds of a step, by block; the batch is there already."""
    model = LeNet()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.01)
    x, y = torch.rand(BATCH, 1, 28, 28), torch.randint(CLASSES, (BATCH,))

    def block():
        begun = time.perf_counter()
        for _ in range(BLOCK):
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()
        return (time.perf_counter() - begun) / BLOCK

    block()  # the first is slower
    return [block() for _ in range(max(steps // BLOCK, 1))]


def run_braid(braid, *words, **options):
    subprocess.run([braid, "train", JOB, *map(str, words)], check=True, **options)


def rows(folder, split="train"):
    lines = (folder / "metrics.jsonl").read_text().splitlines()
    return [row for row in map(json.loads, lines) if row["split"] == split]


def alone_seconds(braid, folder, steps, words):
    """The same of one of the jobs, from the times in its metrics."""
    shutil.rmtree(folder, ignore_errors=True)
    count = BLOCK * (max(steps // BLOCK, 1) + 1)
    own = ["members=", f"steps={count}", f"log_every={BLOCK}", "eval.limit=1"]
    run_braid(braid, *words, *own, "--out", folder, "-q", stdout=subprocess.DEVNULL)
    times = [row["time_s"] for row in rows(folder)]
    shutil.rmtree(folder)
    return [(b - a) / BLOCK for a, b in zip(times, times[1:], strict=False)]


def time_rounds(options, words, eager, alone):
    folder = options.out.with_name(options.out.name + "-alone")
    for _ in range(ROUNDS):
        eager += eager_seconds(options.steps)
        alone += alone_seconds(options.braid, folder, options.steps, words)


def sweep(options, words):
    """Its seconds."""
    begun = time.perf_counter()
    run_braid(options.braid, *words, "--out", options.out)
    return time.perf_counter() - begun


def last_line(took_s, folders, eager, alone):
    steps = sum(rows(folder)[-1]["step"] for folder in folders)
    eager_s, alone_s = (statistics.median(s) * steps for s in (eager, alone))
    return (
        f"{len(folders)} models in {took_s:.0f} s; one after another: "
        f"Braid {alone_s:.0f} s ({alone_s / took_s:.1f} x), "
        f"PyTorch eager {eager_s:.0f} s ({eager_s / took_s:.1f} x), "
        f"from {BLOCK * len(eager)} timed steps each on {torch.get_num_threads()} threads"
    )


def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("--braid", required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--steps", type=int, default=50)
    return parser.parse_known_args()


def main():
    options, words = parse()
    shutil.rmtree(options.out, ignore_errors=True)
    threads = [word for word in words if word.startswith("threads=")]
    torch.set_num_threads(int(threads[-1][8:]) if threads else len(os.sched_getaffinity(0)))
    eager, alone = [], []
    print("[braid] timing single models for later", flush=True)
    time_rounds(options, words, eager, alone)
    took_s = sweep(options, words)
    print("[braid] timing single models again", flush=True)
    time_rounds(options, words, eager, alone)
    folders = sorted(path.parent for path in options.out.glob("*/config.yaml"))
    print(f"[braid] results: {options.out}; 'tensorboard --logdir {options.out}' has the curves")
    print("[braid]", last_line(took_s, folders, eager, alone), flush=True)


if __name__ == "__main__":
    try:
        main()
    except subprocess.CalledProcessError as error:
        sys.exit(error.returncode)
