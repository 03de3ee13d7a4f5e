"""The training loop on the CPU: what it costs over the bare step, and whether
loading overlaps with computing.

LeNet at batch 64 with AdamW and a schedule; every run writes metrics, events
and a log. Blocks of bare steps and of steps in the loop alternate in one
process, on one program, so that noise of the machine falls on both. Printed:
medians over blocks, and the median of the paired ratios with the interval that
holds 90 % of them; by the clock, and by the processor time of the thread that
trains, which other processes disturb less.

    scripts/bench.sh loop_cpu         (or with --quick: python bench/loop_cpu.py --quick)
"""

import os
import platform
import statistics
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = Path(os.environ.get("BRAID_BUILD", ROOT / "build"))


class Loop:
    """A loop_server process; run() gives the milliseconds of a step in each block:
    bare and loop by the clock, bare and loop by processor time."""

    def __init__(self, threads, source, display="off"):
        self.process = subprocess.Popen(
            [BUILD / "bench" / "loop_server", str(threads), str(source), display],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def run(self, blocks, steps):
        self.process.stdin.write(f"{blocks} {steps}\n")
        self.process.stdin.flush()
        numbers = list(map(float, self.process.stdout.readline().split()))
        return [numbers[i:i + 4] for i in range(0, len(numbers), 4)]


def overhead(bare, loop):
    """In percent: the median of the pairs, and where 90 % of them lie."""
    ratios = sorted(100 * (b / a - 1) for a, b in zip(bare, loop, strict=True))
    low, high = ratios[len(ratios) // 20], ratios[-1 - len(ratios) // 20]
    return f"{statistics.median(ratios):+5.1f} % [{low:+.1f}, {high:+.1f}]"


def print_case(title, blocks):
    bare, loop, bare_cpu, loop_cpu = zip(*blocks, strict=True)
    print(f"  {title:33} bare {statistics.median(bare):6.2f} ms  "
          f"loop {statistics.median(loop):6.2f} ms  {overhead(bare, loop)}  "
          f"processor {overhead(bare_cpu, loop_cpu)}", flush=True)


def measure_overhead(blocks, steps):
    print(f"overhead of the loop: {blocks} blocks of {steps} steps")
    cores = os.cpu_count()
    cases = {
        "1 thread, data in memory": (1, "memory"),
        "1 thread, the display on": (1, "memory", "on"),
        "1 thread, glyphs drawn meanwhile": (1, "glyphs"),
        f"{cores} threads, data in memory": (cores, "memory"),
    }
    for title, arguments in cases.items():
        print_case(title, Loop(*arguments).run(blocks, steps))


def measure_overlap(rounds, steps):
    print(f"a slow source, 1 thread: {rounds} rounds of {steps} steps")
    compute = statistics.median(b[0] for b in Loop(1, "memory").run(5, 20))
    loads = [round(compute * share, 1) for share in (0.25, 0.5, 1, 2, 4)]
    cases = {load: Loop(1, load / 1e3) for load in loads}
    times = {load: [] for load in loads}
    for _ in range(rounds):
        for load, loop in cases.items():
            times[load] += loop.run(1, steps)
    for load, blocks in times.items():
        bare, step = (statistics.median(v) for v in list(zip(*blocks, strict=True))[:2])
        ratio = statistics.median(b[1] / max(load, b[0]) for b in blocks)
        print(f"  load {load:5.1f} ms  compute {bare:5.1f} ms  step {step:5.1f} ms: "
              f"{ratio:.2f} of max(load, compute), {step / (load + bare):.2f} of the sum",
              flush=True)


def main():
    quick = "--quick" in sys.argv
    before = os.getloadavg()[0]
    print(f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores, "
          f"load before: {before:.1f}", flush=True)
    measure_overlap(*((3, 60) if quick else (7, 100)))
    measure_overhead(*((20, 10) if quick else (100, 10)))
    print(f"load after: {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
