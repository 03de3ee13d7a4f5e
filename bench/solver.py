"""How good the plans of the planner's solvers are, how far bounds are from them, and how
long that takes: equal and unequal layers, 48 to 1,000 of them, at limits from the least
peak (0) to what the fastest rows need (1). Seconds are of the processor, of one thread.

    scripts/bench.sh solver          (or: python bench/solver.py [WORDS OF build/bench/solver])
"""

import os
import platform
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = Path(os.environ.get("BRAID_BUILD", ROOT / "build"))
RESULTS = ROOT / "bench" / "results" / "solver.txt"
RUNS = (["48"], ["48", "--deep", "--alone"], ["128"], ["1000", "--alone"])


def main():
    text = (
        f"command   bench/solver.py {' '.join(sys.argv[1:])}".rstrip() + "\n"
        f"{platform.machine()}, {os.cpu_count()} cores, load before: {os.getloadavg()[0]:.1f}\n"
    )
    print(text, end="", flush=True)
    for words in [sys.argv[1:]] if sys.argv[1:] else RUNS:
        command = [BUILD / "bench" / "solver", *words]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as run:
            for line in run.stdout:
                print(line, end="", flush=True)
                text += line
        if run.returncode:
            sys.exit(run.returncode)
    if not sys.argv[1:]:
        RESULTS.write_text(text)


if __name__ == "__main__":
    main()
