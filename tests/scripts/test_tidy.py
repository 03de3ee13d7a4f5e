"""Batches of sources for clang-tidy, and what happens when one fails."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "scripts" / "tidy.py"


def source(inside="", outside=""):
    return f"namespace braid {{\nnamespace {{\n\n{inside}\n\n}}  // namespace\n\n{outside}\n}}\n"


# Plays clang-tidy: notes each file, and finds what its text asks for.
FAKE = """#!{python}
import sys
file = sys.argv[-1]
text = open(file).read()
print(file, file=open({log!r}, "a"))
for number, line in enumerate(text.splitlines(), 1):
    if "defect" in line:
        print(f"{{file}}:{{number}}:1: error: a defect [some-check]")
if text.count("int odd") > 1:
    print(f"{{file}}:1:1: error: redefinition [clang-diagnostic-error]")
sys.exit("defect" in text or text.count("int odd") > 1)
"""


@pytest.fixture
def project(tmp_path):
    """run({name: text}) -> (result of tidy.py, the files that clang-tidy was given)."""
    log, program = tmp_path / "log", tmp_path / "clang-tidy"
    program.write_text(FAKE.format(python=sys.executable, log=str(log)))
    program.chmod(0o755)

    def run(files, *options):
        entries = []
        for name, text in files.items():
            (tmp_path / name).write_text(text)
            command = f"c++ -std=c++20 -o a.dir/{name}.o -c {tmp_path / name}"
            entries.append(
                {"directory": str(tmp_path), "file": str(tmp_path / name), "command": command}
            )
        (tmp_path / "compile_commands.json").write_text(json.dumps(entries))
        command = [sys.executable, SCRIPT, *options, tmp_path, program]
        command += [tmp_path / name for name in files]
        result = subprocess.run(command, capture_output=True, text=True)
        return result, [os.path.basename(line) for line in log.read_text().split()]

    return run


CLEAN = {f"{name}.cpp": source(f"int {name}() {{\n}}") for name in "abc"}


def test_clean_files_are_one_batch(project):
    result, ran = project(CLEAN)
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")
    assert ran == ["batch_0.cpp"]


def test_each_runs_every_file_alone(project):
    result, ran = project(CLEAN, "--each", "-v")
    assert (result.returncode, result.stdout) == (0, "tidy: 0 batches, 3 files alone\n")
    assert sorted(ran) == ["a.cpp", "b.cpp", "c.cpp"]


def test_finding_names_file_and_line(project, tmp_path):
    result, ran = project({**CLEAN, "b.cpp": source("int b() {\n  // defect\n}")})
    assert (result.returncode, ran) == (1, ["batch_0.cpp"])
    assert result.stdout == f"{tmp_path / 'b.cpp'}:5:1: error: a defect [some-check]\n"


def test_batch_that_does_not_compile_comes_down_to_single_files(project):
    # The comment stands for a clash that reading the text does not show.
    files = {name: f"// int odd\n{text}" for name, text in CLEAN.items()}
    result, ran = project(files, "-v")
    assert result.returncode == 0
    assert result.stdout == "tidy: 2 batches, 3 files alone\n"  # three, two, one by one
    assert sorted(ran) == ["a.cpp", "b.cpp", "batch_0.cpp", "batch_0.cpp", "c.cpp"]
