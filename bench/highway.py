"""Our inner loops beside the same loops written with Highway: time per element,
largest error, and what becomes of NaN and infinities.

    scripts/bench.sh highway          (or: python bench/highway.py [PAIRS])

Built only where CMake finds Highway (libhwy-dev, or BRAID_HWY_DIR).
"""

import os
import platform
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = Path(os.environ.get("BRAID_BUILD", ROOT / "build"))
RESULTS = ROOT / "bench" / "results" / "highway.txt"
PROGRAM = BUILD / "bench" / "highway"


def processor():
    """The processor's name where the system tells it."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def main():
    if not PROGRAM.exists():
        print("highway: skipped, as the build found no Highway (libhwy-dev)")
        return
    pairs = sys.argv[1:]
    head = (f"command   bench/highway.py {' '.join(pairs)}".rstrip() + "\n"
            f"{platform.machine()}, {processor()}, {os.cpu_count()} cores, load before: "
            f"{os.getloadavg()[0]:.1f}\n")
    print(head, end="", flush=True)
    run = subprocess.run([PROGRAM, *pairs], check=True, stdout=subprocess.PIPE, text=True)
    print(run.stdout, end="")
    if not pairs:
        RESULTS.write_text(head + run.stdout)


if __name__ == "__main__":
    main()
