"""Every solver on the stacks that H3T was published with: BERT-like blocks of 1.8 to 175
billion parameters, sequences of 512, states sharded over the devices, Adam on the host.

Each block has H3T's twelve choices as rows: ZeRO-2 or 3, its shard of the parameters on
the device or on the host, activations kept, recomputed, or recomputed with their input on
the host. Speeds are assumed and stated below, not measured; memory limits are those of
H3T's scripts.

    python bench/plan_h3t.py [STACK ...]
"""

import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BRAID = os.environ.get("BRAID_BIN", str(ROOT / "build" / "braid"))
RESULTS = ROOT / "bench" / "results" / "plan_h3t.txt"
SOLVERS = ("certified", "dp", "greedy", "random", "all-on", "all-off")
SEQUENCE = 512
DEPTHS = [0, 1, 2, 3]


@dataclass
class Devices:
    """Speeds of one device: flop/s, and bytes per ns."""

    name: str
    count: int
    flops: float
    host: float  # to the host and back, each way
    gather: float  # between devices
    adam: float  # of optimizer state on the host
    limit: int


RTX = ("2080Ti, PCIe", 8, 30e12, 6, 6, 5, 8000 << 20)
A100 = ("A100", 8, 120e12, 12, 150, 10, 28 << 30)
A100_64 = ("A100, 8 nodes", 64, 120e12, 12, 12, 10, 28 << 30)

# Width, width inside, blocks, sequences in a batch, devices.
STACKS = {
    "1.8B": (1024, 16384, 48, 32, RTX),
    "6B": (1024, 65536, 48, 128, A100),
    "13B": (2048, 65536, 48, 128, A100),
    "100B": (12288, 49152, 56, 1024, A100_64),
    "175B": (12288, 49152, 96, 1024, A100_64),
}


def rows(width, inside, tokens, devices):
    """The modes of one block."""
    parameters = 4 * width * width + 2 * width * inside
    weights, shard = 2 * parameters, 2 * parameters // devices.count
    states = 16 * parameters // devices.count
    forward = 2 * parameters * tokens + 4 * tokens * SEQUENCE * width
    f = int(forward / devices.flops * 1e9)
    entry = 2 * tokens * width
    scores = 4 * tokens * SEQUENCE * (width // 64)
    activations = 18 * tokens * width + 4 * tokens * inside + scores
    across = int(weights * (devices.count - 1) / devices.count / devices.gather)
    modes = []
    for zero in (2, 3):
        for on_host in (False, True):
            for act in ("keep", "recompute", "recompute+offload"):
                copy = int(shard / devices.host)
                mode = {
                    "name": f"zero{zero},{'host' if on_host else 'device'},{act}",
                    "f": f, "b": 2 * f, "gf": across, "rb": across,
                    "ob": copy, "u": int(states / devices.adam),
                    "hf": copy,  # the shard that Adam wrote on the host
                    "wf": weights, "wb": 0, "hb": 0, "of": 0, "gb": 0,
                    "keep": 0, "res": 0 if on_host else shard,
                    "xf": entry + (activations if act != "keep" else 0),
                    "xb": 2 * entry + weights, "lb": weights, "lf": 0,
                    "host": states + (shard if on_host else 0),
                }  # fmt: skip
                if on_host:
                    mode["wf"] += shard
                if zero == 2:
                    mode["keep"] += weights
                else:
                    mode["gb"], mode["wb"] = across, weights
                    if on_host:
                        mode["hb"] = copy
                        mode["wb"] += shard
                if act == "keep":
                    mode["keep"] += activations
                else:
                    mode["b"] += f
                    mode["xb"] += activations
                if act == "recompute":
                    mode["keep"] += entry
                if act == "recompute+offload":
                    mode["of"] = int(entry / devices.host)
                    mode["hb"] += mode["of"]
                    mode["lf"] = entry
                    mode["wb"] += entry
                    mode["dep"] = True
                modes.append(mode)
    return modes


def instance(width, inside, blocks, batch, devices):
    tokens = batch // devices.count * SEQUENCE
    modes = rows(width, inside, tokens, devices)
    segments = [{"name": f"block.{i}", "modes": modes} for i in range(blocks)]
    return {"device_bytes": devices.limit, "depths": DEPTHS, "segments": segments}


def solve(path, solver):
    """(the answer, seconds of the processor)."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    command = [BRAID, "plan", "--instance", path, "--solver", solver, "--json"]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    seconds = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
    return json.loads(done.stdout), seconds


def report(name, folder):
    *shape, own = STACKS[name]
    devices = Devices(*own)
    path = Path(folder) / "instance.json"
    path.write_text(json.dumps(instance(*shape, devices)))
    lines = [f"{name}: {shape[2]} blocks, {devices.count} x {devices.name}, "
             f"{devices.limit / 2**30:.1f} GiB each"]  # fmt: skip
    best = None
    for solver in SOLVERS:
        answer, seconds = solve(path, solver)
        line = f"  {solver:<10}{seconds:>8.2f} s"
        if answer["feasible"]:
            time = answer["time_ns"]
            best = best or time
            line += f"{time / 1e6:>12.2f} ms{100 * (time / best - 1):>+9.2f} %"
            line += f"{answer['peak_bytes'] / devices.limit * 100:>8.1f} % of the limit"
            if solver == "certified":
                line += f"   gap {100 * answer['gap']:.2f} %, depth {answer['depth']}"
        else:
            line += "   no plan"
            if answer["least_peak_bytes"] is not None:
                line += f", the least peak is {answer['least_peak_bytes'] / 2**30:.2f} GiB"
        lines.append(line)
    return "\n".join(lines) + "\n"


def main():
    names = sys.argv[1:] or list(STACKS)
    text = (
        f"command   bench/plan_h3t.py {' '.join(sys.argv[1:])}".rstrip() + "\n"
        f"{platform.machine()}, {os.cpu_count()} cores, load before: {os.getloadavg()[0]:.1f}\n"
        "seconds of the processor, with starting the program; % beside ms: slower than the first\n"
    )
    print(text, end="", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            part = report(name, folder)
            print(part, end="", flush=True)
            text += part
    if not sys.argv[1:]:
        RESULTS.write_text(text)


if __name__ == "__main__":
    main()
