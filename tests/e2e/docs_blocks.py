"""Fenced blocks of the documentation, and how each is run.

The blocks of one page are run in order, in one folder that has the files of
the repository and `braid` on the path, as someone who reads the page would.
Trainings are cut to two steps; with BRAID_TEST_LONG those of README.md are not.

| Language | What is done |
| --- | --- |
| sh | run by bash, which stops at the first command that fails |
| python | run by itself, with `scripts` on its path |
| yaml | a job file: validated, and trained for two steps |
| graph | read by `braid inspect` |
| cpp | compiled, all of a page as one file |
| cmake | nothing: it must be a file |
| text | nothing: what a program prints, or a form |

A comment of the page right before a block changes that:

| Comment | Meaning |
| --- | --- |
| `<!-- file: NAME -->` | the block is the content of that file, for those after it |
| `<!-- not run: WHY -->` | |
| `<!-- long: WHY -->` | run with BRAID_TEST_LONG only |
| `<!-- in: ... BLOCK ... -->` | the text that a cpp block is compiled in |
"""

import json
import os
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
LONG = bool(os.environ.get("BRAID_TEST_LONG"))
LANGUAGES = {"sh", "python", "yaml", "graph", "cpp", "cmake", "text"}
MARKS = {"file", "not run", "long", "in"}

# What makes a training short. A GAN has no evaluation to limit.
FEW_STEPS = ["steps=2", "data.limit=64", "threads=1"]
FEW_TESTS = ["eval.limit=64"]

FENCE = re.compile(r"^( *)```(.*)$")
COMMENT = re.compile(r"<!--\s*([a-z ]+):\s*(.*?)\s*-->", re.DOTALL)


@dataclass
class Block:
    """One fenced block; `line` is that of its fence."""

    page: Path
    line: int
    language: str
    text: str
    mark: str = ""  # a word of MARKS
    told: str = ""  # what the comment says

    @property
    def where(self):
        return f"{self.page.name}:{self.line}"

    def problem(self):
        """Why the block cannot be dealt with; None when it can."""
        if self.language not in LANGUAGES:
            known = ", ".join(sorted(LANGUAGES))
            return f"{self.where}: the language is '{self.language}', expected one of {known}"
        if self.mark and self.mark not in MARKS:
            return f"{self.where}: the comment says '{self.mark}', expected one of {MARKS}"
        if self.mark and not self.told:
            return f"{self.where}: '{self.mark}' says nothing"
        if self.language == "cmake" and self.mark not in ("file", "not run"):
            return f"{self.where}: a cmake block is a file"
        if self.mark == "in" and "BLOCK" not in self.told:
            return f"{self.where}: 'in' has no BLOCK"
        return None


def mark_before(lines):
    """What the comment that these lines end with says: its word, and the rest."""
    text = "\n".join(lines)
    found = text.endswith("-->") and COMMENT.fullmatch(text[text.rindex("<!--") :])
    return found.groups() if found else ("", "")


def blocks_of(text, page):
    """The blocks of a page, in order."""
    found, lines, number = [], text.splitlines(), 0
    while number < len(lines):
        begin = FENCE.match(lines[number])
        if not begin:
            number += 1
            continue
        indent, first = len(begin[1]), number + 1
        end = next((i for i in range(first, len(lines)) if lines[i].strip() == "```"), None)
        assert end is not None, f"{page.name}:{first}: a block that does not end"
        body = "".join(line[indent:] + "\n" for line in lines[first:end])
        mark = mark_before(lines[:number])
        found.append(Block(page, first, begin[2].strip(), body, *mark))
        number = end + 1
    return found


def read_blocks(page):
    return blocks_of(page.read_text(), page)


class Session:
    """A folder in which the blocks of one page are run."""

    def __init__(self, folder, braid):
        self.folder, self.braid = Path(folder), braid
        for name in ("examples", "scripts", "docs", "src"):
            (self.folder / name).symlink_to(ROOT / name)
        for name in ("bin", "home"):
            (self.folder / name).mkdir()
        self.place("python", sys.executable)
        (self.folder / ".venv" / "bin").mkdir(parents=True)
        (self.folder / ".venv" / "bin" / "python").symlink_to(self.folder / "bin" / "python")
        self.place("braid", braid, FEW_STEPS + FEW_TESTS)
        if LONG:  # the build as it is: what README.md trains, it trains to the end
            (self.folder / "build").symlink_to(ROOT / "build")
        else:
            (self.folder / "build").mkdir()
            (self.folder / "build" / "braid").symlink_to(self.folder / "bin" / "braid")

    def place(self, name, program, of_train=()):
        """A program on the path, with more words for `train`."""
        call = f'exec {shlex.quote(str(program))} "$@"'
        short = f'[ "${{1:-}}" = train ] && {call} {" ".join(of_train)}\n' if of_train else ""
        path = self.folder / "bin" / name
        path.write_text(f"#!/bin/bash\n{short}{call}\n")
        path.chmod(0o755)

    def run(self, block):
        if block.mark == "not run" or (block.mark == "long" and not LONG):
            return
        if block.mark == "file":
            (self.folder / block.told).write_text(block.text)
            return
        getattr(self, f"run_{block.language}")(block)

    def call(self, block, *words):
        path = f"{self.folder / 'bin'}:{os.environ['PATH']}"
        own = {"PATH": path, "HOME": str(self.folder / "home"), "PYTHONPATH": "scripts"}
        done = subprocess.run(
            [str(word) for word in words], cwd=self.folder, env=os.environ | own, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=1800,
        )  # fmt: skip
        assert done.returncode == 0, f"{block.where} ended with {done.returncode}:\n{done.stdout}"
        return done.stdout

    def script(self, block, ending, text=None):
        path = self.folder / f"block-{block.line}.{ending}"
        path.write_text(text or block.text)
        return path

    def run_sh(self, block):
        self.call(block, "bash", "-eu", "-o", "pipefail", self.script(block, "sh"))

    def run_python(self, block):
        self.call(block, sys.executable, self.script(block, "py"))

    def run_yaml(self, block):
        job = self.script(block, "yaml")
        assert f"ok     {job}" in self.call(block, self.braid, "validate", job)
        words = FEW_STEPS if "networks:" in block.text else FEW_STEPS + FEW_TESTS
        self.call(block, self.braid, "train", job, "--out", job.with_suffix(""), *words)

    def run_graph(self, block):
        self.call(block, self.braid, "inspect", self.script(block, "graph"))

    def run_text(self, block):
        pass


def compiled_text(blocks):
    """One source file of all cpp blocks of a page, each in a namespace."""
    includes, parts = set(), []
    for block in blocks:
        whole = block.told.replace("BLOCK", block.text) if block.mark == "in" else block.text
        includes |= set(re.findall(r"^#include .*$", whole, re.MULTILINE))
        body = re.sub(r"^#include .*$", "", whole, flags=re.MULTILINE)
        parts.append(
            f"namespace block_{block.line} {{\nusing namespace braid;\n"
            f'#line {block.line} "{block.page.name}"\n{body}\n}}\n'
        )
    return "\n".join([*sorted(includes), "namespace braid {}", *parts])


def compile_blocks(blocks, folder):
    """Checks the cpp blocks of a page with the compiler of the examples."""
    commands = json.loads((ROOT / "build" / "compile_commands.json").read_text())
    example = next(c for c in commands if c["file"].endswith("/examples/train_glyphs.cpp"))
    words = shlex.split(example["command"])
    if "ccache" in words[0]:
        words = words[1:]
    source = Path(folder) / "blocks.cpp"
    source.write_text(compiled_text(blocks))
    words = [str(source) if w == example["file"] else w for w in words]
    place = words.index("-o")
    del words[place : place + 2]
    words = [w for w in words if w != "-c"] + ["-fsyntax-only", "-w"]
    done = subprocess.run(words, cwd=example["directory"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
