"""Training on shards that are larger than memory against the same batches in memory.

The set is 20 GB of sparse files: rows of 1024 floats, all of them zeros, which take no
place on the disk but are read like any others. "In memory" is one .npy file of 4096 such
rows. Measured:

- memory: one epoch over all of it with a small network, the resident size of the process
  at ten moments and its peak; and the peak of the same job on the rows in memory;
- speed: the two take turns with a network whose step takes longer than reading a batch,
  mixed over all samples, and in blocks. Printed: medians over rounds of the steps per
  second, and of their ratio, with the least and the most.

    scripts/bench.sh stream
    bench/stream.py [--gigabytes 20] [--rounds 5] [--steps 300] [--folder DIR]
"""

import argparse
import json
import os
import platform
import shutil
import statistics
import struct
import subprocess
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = Path(os.environ.get("BRAID_BUILD", ROOT / "build"))
WIDTH, CLASSES, BATCH, SHARDS, SMALL = 1024, 10, 256, 20, 4096
BLOCKS = {"shuffle_block": 1024, "shuffle_window": 8}


def write_shard(path, rows):
    """x F32 [rows, WIDTH] and y I64 [rows], all zeros: a header and a hole."""
    end = rows * WIDTH * 4
    header = {
        "x": {"dtype": "F32", "shape": [rows, WIDTH], "data_offsets": [0, end]},
        "y": {"dtype": "I64", "shape": [rows], "data_offsets": [end, end + rows * 8]},
    }
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        file.truncate(8 + len(text) + end + rows * 8)


def write_array(path, descr, shape, item_bytes):
    text = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}"
    text += " " * (-(len(text) + 11) % 64) + "\n"
    count = 1
    for size in shape:
        count *= size
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode())
        file.write(bytes(count * item_bytes))


def write_all(folder, gigabytes):
    """Gives the number of rows."""
    rows = int(gigabytes * 1e9) // (WIDTH * 4 + 8) // SHARDS
    (folder / "shards").mkdir()
    for i in range(SHARDS):
        write_shard(folder / "shards" / f"{i:04}.safetensors", rows)
    write_array(folder / "x.npy", "<f4", (SMALL, WIDTH), 4)
    write_array(folder / "y.npy", "<i8", (SMALL,), 8)
    return rows * SHARDS


def job(folder, name, data, hidden, steps, every):
    content = {
        "model": f"mlp(features={WIDTH},hidden={hidden},classes={CLASSES})",
        "data": data, "steps": steps, "batch_size": BATCH, "seed": 1,
        "optimizer": {"kind": "sgd", "lr": 0.01}, "log_every": every,
    }  # fmt: skip
    path = folder / f"{name}.yaml"
    path.write_text(json.dumps(content))
    return path


def start(folder, path):
    out = folder / "run"
    shutil.rmtree(out, ignore_errors=True)
    command = [BUILD / "braid", "train", path, "--out", out, "-q"]
    return subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL)


def resident(process):
    for line in Path(f"/proc/{process.pid}/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) / 1024
    return None


def finish(process):
    """Waits; gives the peak of the resident size, in MB of 2**20 bytes."""
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise SystemExit(f"braid ended with {process.returncode}")
    return usage.ru_maxrss / 1024


def rows_of(folder):
    lines = (folder / "run" / "metrics.jsonl").read_text().splitlines()
    return [row for row in map(json.loads, lines) if row["split"] == "train"]


def watch(folder, path):
    """Peak, and the resident size over time."""
    process, sizes = start(folder, path), []
    while not has_ended(process):
        size = resident(process)
        if size and size > 1:  # before it is the program, it is nothing
            sizes.append(size)
        time.sleep(0.2)
    return finish(process), sizes


def has_ended(process):
    state = os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    return state is not None


def speed(folder, path):
    """Steps per second, without the first tenth."""
    finish(start(folder, path))
    rows = rows_of(folder)
    first, last = rows[max(0, len(rows) // 10)], rows[-1]
    return (last["step"] - first["step"]) / (last["time_s"] - first["time_s"])


def spread(values):
    return f"{statistics.median(values):8.2f} [{min(values):.2f}, {max(values):.2f}]"


def measure_memory(folder, sources, samples):
    steps = samples // BATCH
    print(f"memory: {steps} steps of a network with 8 hidden units, an epoch of the shards")
    for name in ("shards, in blocks", "in memory"):
        path = job(folder, "memory", sources[name], 8, steps, max(1, steps // 20))
        began = time.time()
        peak, sizes = watch(folder, path)
        tenths = [sizes[i * (len(sizes) - 1) // 9] for i in range(10)]
        text = " ".join(f"{size:.0f}" for size in tenths)
        print(f"  {name:18} peak {peak:.0f} MiB; over time {text}; {time.time() - began:.0f} s",
              flush=True)  # fmt: skip


def measure_speed(folder, sources, options):
    print(f"speed: {options.steps} steps, {options.rounds} rounds; steps per second, and share "
          "of those in memory")  # fmt: skip
    speeds = {name: [] for name in sources}
    for _ in range(options.rounds):
        for name, data in sources.items():
            path = job(folder, "speed", data, 2048, options.steps, 10)
            speeds[name].append(speed(folder, path))
    base = speeds["in memory"]
    for name, values in speeds.items():
        shares = [100 * value / own for value, own in zip(values, base, strict=True)]
        print(f"  {name:18} {spread(values)}   {spread(shares)} %")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--gigabytes", type=float, default=20)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--folder", help="where the files go for a while")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        folder = Path(name)
        samples = write_all(folder, options.gigabytes)
        shards = {"source": "shards", "folder": str(folder / "shards"), "classes": CLASSES}
        files = [f"x={folder / 'x.npy'}", f"y={folder / 'y.npy'}"]
        sources = {
            "in memory": {"source": "npy", "files": files, "classes": CLASSES},
            "shards": shards,
            "shards, in blocks": shards | BLOCKS,
        }
        print(f"command   bench/stream.py --gigabytes {options.gigabytes:g} "
              f"--rounds {options.rounds} --steps {options.steps}")  # fmt: skip
        load = os.getloadavg()[0]
        print(f"{platform.machine()}, {os.cpu_count()} cores, load before: {load:.1f}")
        print(f"{samples} samples in {SHARDS} files, {options.gigabytes:g} GB; batches of {BATCH}")
        measure_memory(folder, sources, samples)
        measure_speed(folder, sources, options)


if __name__ == "__main__":
    main()
