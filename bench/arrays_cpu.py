"""Many models trained at once on the CPU: Braid's arrays against PyTorch one
model after another, PyTorch in a process per core, torch.func.vmap and JAX
jit(vmap). Every engine takes full training steps with Adam, each member on a
batch of its own.

Engines are processes that take turns, so that noise of the machine falls on
all of them. Printed: the median over rounds of the time per step of a model;
the median of the paired ratios with the interval that holds 90 % of them;
bytes per member. One model after another takes the same time per model for
any number of them, so one is timed. With --live: what members that enter and
leave cost, against a step.

    scripts/bench.sh arrays_cpu
    bench/arrays_cpu.py [--workload mlp lenet] [--members 1 64] [--rounds 5] [--cores 1]
    bench/arrays_cpu.py --live [--members 4 64]
"""

import argparse
import os
import platform
import select
import statistics
import subprocess
import sys
import time
from pathlib import Path

import jax
import torch
from _workloads import ROOT, WORKLOADS

BUILD = Path(os.environ.get("BRAID_BUILD", ROOT / "build"))
BENCH = ROOT / "bench"
PATIENCE_S = 900  # for an engine to compile and take its first step


class Engine:
    """Processes that step models; run(n) gives the seconds until all of them
    have taken n steps. `models` is how many models one step is a step of."""

    def __init__(self, command, models, processes=1):
        self.models = models * processes
        self.processes = [
            subprocess.Popen([str(word) for word in command], text=True, stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
            for _ in range(processes)]
        self.trouble = self.begin()

    def begin(self):
        """None when ready to run, else why not."""
        lines = [self.first_line(process) for process in self.processes]
        return next((line or "does not run" for line in lines if line != "ready"), None)

    @staticmethod
    def first_line(process):
        if select.select([process.stdout], [], [], PATIENCE_S)[0]:
            return process.stdout.readline().strip()
        process.kill()
        return f"does not run: not ready after {PATIENCE_S} s"

    def run(self, count):
        start = time.perf_counter()
        for process in self.processes:
            process.stdin.write(f"{count}\n")
            process.stdin.flush()
        for process in self.processes:
            process.stdout.readline()
        return time.perf_counter() - start

    def close(self):
        for process in self.processes:
            process.stdin.close()
            process.stdout.close()
            process.wait()


class BraidEngine(Engine):
    """A single model is no array: it has no dimension of members."""

    def __init__(self, workload, members, threads):
        copies = members if members > 1 else 0
        super().__init__([BUILD / "bench" / "step_server", workload.braid_name(), "adam",
                          threads, copies, workload.classes], members)

    def begin(self):
        return None

    def peak_bytes(self):
        process = self.processes[0]
        process.stdin.write("peak\n")
        process.stdin.flush()
        return int(process.stdout.readline().split()[1])


def python(script, *words):
    return [sys.executable, BENCH / script, *words]


def engines_of(name, members):
    """All engines of a workload, by what they are called in the table."""
    workload = WORKLOADS[name]
    cores = len(os.sched_getaffinity(0))
    processes = min(members, cores)

    def torch_engine(kind, models, threads, count=1):
        return Engine(python("_torch_server.py", kind, name, members, threads), models, count)

    own = {f"braid, threads: {n}": BraidEngine(workload, members, n) for n in sorted({1, cores})}
    return own | {
        "eager": torch_engine("eager", 1, cores),
        "eager, fused Adam": torch_engine("fused", 1, cores),
        f"eager, processes: {processes}": torch_engine("fused", 1, 1, processes),
        "torch.func.vmap": torch_engine("vmap", members, cores),
        "jax jit(vmap)": Engine(python("_jax_server.py", name, members), members),
    }


def steps_for(engine, seconds):
    """As many steps as take about that long; warms the engine up."""
    count, took = 1, engine.run(1)
    while took < seconds / 2:
        count *= 2
        took = engine.run(count)
    return max(1, round(count * seconds / took))


def time_engines(engines, seconds, rounds):
    """Seconds per step of a model, by engine, one number per round."""
    steps = {name: steps_for(engine, seconds) for name, engine in engines.items()}
    times = {name: [] for name in engines}
    for _ in range(rounds):
        for name, engine in engines.items():
            took = engine.run(steps[name])
            times[name].append(took / steps[name] / engine.models)
    return times


def best(times, is_own):
    """The engine of the least median, of Braid's or of the others."""
    names = [name for name in times if name.startswith("braid") == is_own]
    return min(names, key=lambda name: statistics.median(times[name]))


def ratio_text(others, own):
    ratios = sorted(other / mine for other, mine in zip(others, own, strict=True))
    low, high = ratios[len(ratios) // 20], ratios[-1 - len(ratios) // 20]
    return f"{statistics.median(ratios):7.2f} [{low:.2f}, {high:.2f}]"


def print_times(times):
    own = best(times, True)
    print(f"  {'':22} {'us per model-step':>17}   times of '{own}'")
    for name, values in times.items():
        ratio = "" if name == own else ratio_text(values, times[own])
        print(f"  {name:22} {statistics.median(values) * 1e6:17.1f}   {ratio}")
    other = best(times, False)
    print(f"  best other: {other}, {ratio_text(times[other], times[own]).strip()} of Braid's time")


def print_bytes(name, members, engines):
    own = min(e.peak_bytes() for e in engines.values() if isinstance(e, BraidEngine)) / members
    command = python("_torch_server.py", "peak", name, members, 1)
    eager = int(subprocess.check_output([str(word) for word in command]))
    print(f"  bytes per member: braid {own:.0f}, eager {eager} ({own / eager:.2f} of eager's)")


def measure(name, members, seconds, rounds):
    engines = engines_of(name, members)
    print(f"\n{WORKLOADS[name].title}, {members} members: {rounds} rounds of {seconds} s each")
    for label in [label for label, engine in engines.items() if engine.trouble]:
        print(f"  {label:22} {engines[label].trouble}")
        engines.pop(label).close()
    print_times(time_engines(engines, seconds, rounds))
    print_bytes(name, members, engines)
    sys.stdout.flush()
    for engine in engines.values():
        engine.close()


def measure_live(members):
    """An array of tiny MLPs: processor time of a step, a drop and an add."""
    command = [str(BUILD / "bench" / "live_server"), str(members)]
    answer = subprocess.run(command, input="50\n500\n", text=True, check=True,
                            capture_output=True).stdout.splitlines()[-1]
    bare, step, drop, add = map(float, answer.split())
    print(f"  {members:3} members: bare step {bare:6.1f} us, step of the array {step:6.1f}, "
          f"drop {drop:5.1f}, add {add:5.1f} ({add / step:.2f} of a step)", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--workload", nargs="+", choices=WORKLOADS,
                        default=["mlp", "lenet", "pointnet", "transformer", "mobilenet"])
    parser.add_argument("--members", nargs="+", type=int, default=[1, 4, 16, 64])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.2)
    parser.add_argument("--cores", type=int, default=os.cpu_count())
    parser.add_argument("--live", action="store_true", help="members that come and go")
    options = parser.parse_args()
    os.sched_setaffinity(0, range(options.cores))  # of all engines
    print(f"{platform.processor() or platform.machine()}, {options.cores} cores, "
          f"torch {torch.__version__}, jax {jax.__version__}, "
          f"load of the machine before: {os.getloadavg()[0]:.1f}")
    if options.live:
        print(f"\n{WORKLOADS['mlp'].title}: medians of 500 rounds")
        for members in options.members:
            measure_live(members)
        return
    for name in options.workload:
        for members in options.members:
            measure(name, members, options.seconds, options.rounds)


if __name__ == "__main__":
    main()
