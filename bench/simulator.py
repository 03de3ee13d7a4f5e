"""How good policies are on Hydra's grid of jobs, and how fast schedules are simulated.

    scripts/bench.sh simulator
"""

import os
import platform
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = Path(os.environ.get("BRAID_BUILD", ROOT / "build"))
RESULTS = ROOT / "bench" / "results" / "simulator.txt"


def main():
    text = (
        "command   bench/simulator.py\n"
        f"{platform.machine()}, {os.cpu_count()} cores, load before: {os.getloadavg()[0]:.1f}\n\n"
    )
    print(text, end="", flush=True)
    command = [BUILD / "bench" / "simulator"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as run:
        for line in run.stdout:
            print(line, end="", flush=True)
            text += line
    if run.returncode:
        sys.exit(run.returncode)
    RESULTS.write_text(text)


if __name__ == "__main__":
    main()
