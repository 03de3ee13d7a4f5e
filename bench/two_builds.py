"""Two builds of Braid on the CPU, one against the other: the steps of step_cpu and
arrays_cpu, and the training loop of loop_cpu.

Both builds are processes that take turns, so that noise of the machine falls on both.
Printed: the medians over rounds of both times, and the median of the paired ratios,
this build's over the other's, with the interval that holds 90 % of them. Rows above
1.03 are marked, and named again at the end.

    bench/two_builds.py --before BUILD [--workload mlp lenet] [--rounds 9] [--threads 1 2]
"""

import argparse
import os
import platform
import statistics
import subprocess
from pathlib import Path

from _workloads import ROOT, WORKLOADS

BUILD = Path(os.environ.get("BRAID_BUILD", ROOT / "build"))
MEMBERS = [1, 4, 16, 64]
LARGE = {"mobilenet", "resnet", "pointnet"}  # of these no array of 64
SLOWER = 1.03


class Server:
    """A process that answers a line with numbers."""

    def __init__(self, *command):
        self.process = subprocess.Popen(
            [str(word) for word in command], text=True, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)

    def ask(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return [float(word) for word in self.process.stdout.readline().split()]

    def close(self):
        self.process.stdin.close()
        self.process.wait()


class Steps(Server):
    """Bare steps of a model, or of an array of them."""

    def __init__(self, build, workload, members, threads):
        copies = members if members > 1 else 0
        super().__init__(build / "bench" / "step_server", workload.braid_name(), "adam",
                         threads, copies, workload.classes)
        self.count = 1

    def warm_up(self, seconds):
        """Takes as many steps in a turn as last about that long."""
        while (took := self.ask(str(self.count))[0]) < seconds / 2:
            self.count *= 2
        self.count = max(1, round(self.count * seconds / took))

    def run(self):
        return self.ask(str(self.count))[0] / self.count


class Loop(Server):
    """Steps of LeNet inside of the training loop; seconds of the fastest block."""

    def __init__(self, build, threads, display):
        super().__init__(build / "bench" / "loop_server", threads, "memory", display)

    def warm_up(self, seconds):
        self.run()

    def run(self):
        return min(self.ask("4 10")[1::4]) / 1e3


def compare(title, now, before, rounds, seconds):
    """The median ratio."""
    for engine in (now, before):
        engine.warm_up(seconds)
    count = min(getattr(e, "count", 1) for e in (now, before))
    now.count = before.count = count
    times = [[], []]
    for turn in range(rounds):
        pair = list(zip((now, before), times, strict=True))
        for engine, into in pair if turn % 2 else reversed(pair):
            into.append(engine.run())
    for engine in (now, before):
        engine.close()
    ratios = sorted(a / b for a, b in zip(*times, strict=True))
    low, high = ratios[rounds // 20], ratios[-1 - rounds // 20]
    ratio = statistics.median(ratios)
    a, b = (statistics.median(values) * 1e6 for values in times)
    mark = "  slower" if ratio > SLOWER else ""
    print(f"  {title:44}{b:12.1f}{a:12.1f}   {ratio:.3f} [{low:.3f}, {high:.3f}]{mark}",
          flush=True)
    return ratio


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--before", type=Path, help="folder of the other build")
    parser.add_argument("--workload", nargs="*", choices=WORKLOADS, default=list(WORKLOADS))
    parser.add_argument("--threads", nargs="+", type=int, default=[1, 2])
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--seconds", type=float, default=0.15, help="of a turn")
    options = parser.parse_args()
    if not options.before:
        print("two_builds: skipped, as --before names no other build")
        return
    print(f"{platform.processor() or platform.machine()}, "
          f"{len(os.sched_getaffinity(0))} cores, {options.rounds} rounds of "
          f"{options.seconds} s, load before: {os.getloadavg()[0]:.1f}")
    print(f"  {'':44}{'before us':>12}{'now us':>12}   now / before")
    found = {}

    def row(title, engine):
        found[title] = compare(title, engine(BUILD), engine(options.before), options.rounds,
                               options.seconds)

    for name in options.workload:
        for members in MEMBERS[:3] if name in LARGE else MEMBERS:
            for threads in options.threads:
                row(f"{name}, {members} members, {threads} threads",
                    lambda build, n=name, m=members, t=threads: Steps(build, WORKLOADS[n], m, t))
    for threads in options.threads:
        for display in ("off", "on"):
            row(f"loop of lenet, {threads} threads, display {display}",
                lambda build, t=threads, d=display: Loop(build, t, d))
    slower = [title for title, ratio in found.items() if ratio > SLOWER]
    print(f"{len(found)} rows, median {statistics.median(found.values()):.3f}; "
          f"over {SLOWER}: {', '.join(slower) or 'none'}")


if __name__ == "__main__":
    main()
