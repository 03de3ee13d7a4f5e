"""What a benchmark of several parts prints, and writes down when all of them ran."""

import os
import platform
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = Path(os.environ.get("BRAID_BUILD", ROOT / "build"))


class Report:
    """Lines, and a folder for what the parts need."""

    def __init__(self, folder):
        self.folder, self.text, self.count = folder, "", 0

    def say(self, line=""):
        print(line, flush=True)
        self.text += line.rstrip() + "\n"

    def say_output(self, *command):
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as run:
            for line in run.stdout:
                self.say("  " + line.rstrip())
        if run.returncode:
            sys.exit(run.returncode)


def run_parts(name, parts, make=Report):
    """Runs the parts that the command line names, all of them where it names none; then
    bench/results/NAME.txt is what they said. A part is a function of a report."""
    names = sys.argv[1:] or list(parts)
    with tempfile.TemporaryDirectory() as folder:
        report = make(Path(folder))
        report.say(f"command   bench/{name}.py {' '.join(sys.argv[1:])}")
        load = os.getloadavg()[0]
        report.say(f"{platform.machine()}, {os.cpu_count()} cores, load before: {load:.1f}")
        for part in names:
            report.say()
            parts[part](report)
    if not sys.argv[1:]:
        (ROOT / "bench" / "results" / f"{name}.txt").write_text(report.text)
