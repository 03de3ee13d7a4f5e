"""How long compiling a training step takes, by pass, and how that grows with the
graph. No step runs; the figures are the least of three compilations.

    scripts/bench.sh compile          (or: python bench/compile.py [NODES ...])
"""

import os
import platform
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = Path(os.environ.get("BRAID_BUILD", ROOT / "build"))
RESULTS = ROOT / "bench" / "results" / "compile.txt"


def main():
    sizes = sys.argv[1:]
    head = (f"command   bench/compile.py {' '.join(sizes)}".rstrip() + "\n"
            f"{platform.machine()}, {os.cpu_count()} cores, load before: "
            f"{os.getloadavg()[0]:.1f}\n")
    print(head, end="", flush=True)
    run = subprocess.run([BUILD / "bench" / "compile", *sizes], check=True,
                         stdout=subprocess.PIPE, text=True)
    print(run.stdout, end="")
    if not sizes:
        RESULTS.write_text(head + run.stdout)


if __name__ == "__main__":
    main()
