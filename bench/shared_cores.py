"""A training step on cores that another process is busy on, against the same step on
quiet cores: Braid and PyTorch eager (fused Adam).

The other process computes without end in as many threads as there are cores. Engines
are processes that take turns; in each round every one of them steps on quiet cores and
then beside the busy process. Printed: the medians over rounds of both times per step,
and the median of how many times longer the second was, with the interval that holds
90 % of these. Fair sharing alone makes a step twice as long. Load of the machine that
is not ours falls on both, and makes the ratio smaller. With --before another build of
Braid takes turns with this one.

    scripts/bench.sh shared_cores
    bench/shared_cores.py [--workload lenet] [--rounds 11] [--before BUILD]
"""

import argparse
import contextlib
import os
import platform
import statistics
import subprocess
import sys
import time
from pathlib import Path

import torch
from _workloads import ROOT, WORKLOADS

BUILD = Path(os.environ.get("BRAID_BUILD", ROOT / "build"))
SECONDS = 0.5  # of an engine in each half of a round
NAMES = ["lenet", "resnet", "transformer"]


class Engine:
    """A process that steps a model."""

    def __init__(self, command, is_announced):
        self.process = subprocess.Popen(
            [str(word) for word in command], text=True, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        if is_announced:
            self.process.stdout.readline()

    def steps(self, count):
        """Seconds of so many steps."""
        self.process.stdin.write(f"{count}\n")
        self.process.stdin.flush()
        return float(self.process.stdout.readline().split()[0])

    def run(self):
        """The mean time of a step over some time: a single one tells little, since
        who has a core keeps it for milliseconds."""
        count, start = 0, time.perf_counter()
        while time.perf_counter() - start < SECONDS:
            self.steps(1)
            count += 1
        return (time.perf_counter() - start) / count

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def braid(build, workload, threads):
    return Engine([Path(build) / "bench" / "step_server", workload.braid_name(), "adam",
                   threads, 0, workload.classes], False)


def engines_of(name, threads, before):
    workload = WORKLOADS[name]
    engines = {"braid": braid(BUILD, workload, threads)}
    if before:
        engines["braid before"] = braid(before, workload, threads)
    server = ROOT / "bench" / "_torch_server.py"
    engines["eager"] = Engine([sys.executable, server, "fused", name, 1, threads], True)
    return engines


@contextlib.contextmanager
def busy(threads):
    """Another process on the same cores."""
    others = [subprocess.Popen([sys.executable, "-S", "-c", "while True: pass"])
              for _ in range(threads)]
    time.sleep(0.2)
    try:
        yield
    finally:
        for other in others:
            other.kill()
            other.wait()


def measure(name, engines, threads, rounds):
    quiet = {engine: [] for engine in engines}
    shared = {engine: [] for engine in engines}
    for engine in engines.values():
        engine.run()
    for _ in range(rounds):
        for key, engine in engines.items():
            quiet[key].append(engine.run())
        for key, engine in engines.items():
            with busy(threads):
                shared[key].append(engine.run())
    print(f"\n{WORKLOADS[name].title}: {rounds} rounds of {SECONDS} s each")
    print(f"  {'':14}{'quiet ms':>12}{'shared ms':>12}   times as long")
    for key in engines:
        ratios = sorted(b / a for a, b in zip(quiet[key], shared[key], strict=True))
        low, high = ratios[rounds // 20], ratios[-1 - rounds // 20]
        print(f"  {key:14}{statistics.median(quiet[key]) * 1e3:12.2f}"
              f"{statistics.median(shared[key]) * 1e3:12.2f}"
              f"   {statistics.median(ratios):.2f} [{low:.2f}, {high:.2f}]")
    if "braid before" in engines:
        pairs = zip(quiet["braid"], quiet["braid before"], strict=True)
        print(f"  quiet, braid / braid before: {statistics.median(a / b for a, b in pairs):.3f}"
              f" (best {min(quiet['braid']) / min(quiet['braid before']):.3f})")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--workload", nargs="+", choices=NAMES, default=NAMES)
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--before", help="folder of another build")
    options = parser.parse_args()
    threads = len(os.sched_getaffinity(0))
    print(f"{platform.processor() or platform.machine()}, {threads} cores, "
          f"torch {torch.__version__}, "
          f"load of the machine before: {os.getloadavg()[0]:.1f}")
    for name in options.workload:
        engines = engines_of(name, threads, options.before)
        measure(name, engines, threads, options.rounds)
        for engine in engines.values():
            engine.close()


if __name__ == "__main__":
    main()
