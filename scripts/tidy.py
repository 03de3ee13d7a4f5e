"""Runs clang-tidy over many sources at once, several of them per process.

    tidy.py [--each] [-v] BUILD_FOLDER CLANG_TIDY FILE...

Nearly all the time of clang-tidy goes into the headers that every source includes.
So sources of one library are put into batches, and the headers are walked once per
batch. A batch is the text of its sources, one after another, rather than a list of
includes: some warnings (an unused constant) are given for the main file only.

Which sources share a batch is found by reading the text (batches.py), and that may
miss something: a batch that the compiler objects to is cut in two, and so on down to
single sources. What a batch cannot show is a
source that uses a header which only another of the batch includes; `--each` runs
every source alone.

Ends with 1 if anything was found.
"""

import argparse
import json
import os
import re
import shlex
import subprocess
import sys
from bisect import bisect_right
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from batches import make_batches, names_of

BATCH_SIZE = 12
NOISE = re.compile(r"warnings? (generated|treated)|Suppressed|^Use ")


def read_commands(build):
    """The compile command of each source, as {path: entry} with a list of arguments."""
    entries = json.loads((build / "compile_commands.json").read_text())
    for entry in entries:
        entry["arguments"] = shlex.split(entry.pop("command"))
    return {Path(entry["file"]): entry for entry in entries}


def same_command(entry):
    """What entries of one library have in common: its folder of objects, and the flags."""
    arguments = list(entry["arguments"])
    output = arguments.index("-o")
    library = re.match(r".*?\.dir/", arguments[output + 1])
    del arguments[output : output + 2]
    arguments.remove(entry["file"])
    return (library and library[0], *arguments)


def split(files, commands):
    """Lists of files that go together, of one library each."""
    libraries = {}
    for file in files:
        entry = commands.get(file.resolve())
        key = same_command(entry) if entry else file  # not compiled here: alone
        libraries.setdefault(key, {})[file] = names_of(file)
    return [batch for names in libraries.values() for batch in make_batches(names, BATCH_SIZE)]


class Batch:
    """Several files in one source, and the way back from its lines to theirs."""

    def __init__(self, path, files):
        self.path, self.files, self.starts = path, files, []
        whole = ""
        for file in files:
            self.starts.append(whole.count("\n") + 1)
            whole += file.read_text(encoding="utf-8").rstrip("\n") + "\n"
        path.write_text(whole, encoding="utf-8")

    def place(self, line):
        """FILE:LINE of a line of the batch."""
        index = bisect_right(self.starts, line) - 1
        return f"{self.files[index].resolve()}:{line - self.starts[index] + 1}"

    def with_own_places(self, text):
        places = re.compile(re.escape(str(self.path)) + r":(\d+)\b")
        return places.sub(lambda found: self.place(int(found[1])), text)


def write_batches(folder, lists, commands):
    """A Batch of each list of files, and their compile_commands.json."""
    folder.mkdir(exist_ok=True)
    batches, entries = [], []
    for number, files in enumerate(lists):
        batch = Batch(folder.resolve() / f"batch_{number}.cpp", files)
        entry = commands[files[0].resolve()]
        swap = {entry["file"]: str(batch.path)}
        arguments = [swap.get(argument, argument) for argument in entry["arguments"]]
        entries.append({**entry, "file": str(batch.path), "arguments": arguments})
        batches.append(batch)
    (folder / "compile_commands.json").write_text(json.dumps(entries, indent=1))
    return batches


class Tidy:
    """Runs clang-tidy in as many processes as there are cores."""

    def __init__(self, program):
        self.program = program
        self.pool = ThreadPoolExecutor(len(os.sched_getaffinity(0)))

    def run(self, build, files):
        """(exit status, text) of each file, in order."""
        return self.pool.map(lambda file: self.run_one(build, file), files)

    def run_one(self, build, file):
        command = [self.program, "-p", build, "--quiet", file]
        done = subprocess.run(command, capture_output=True, text=True, errors="replace")
        errors = [line for line in done.stderr.splitlines(True) if not NOISE.search(line)]
        return done.returncode, done.stdout + "".join(errors)


def compiled(status, text):
    """Whether the compiler had nothing to say; a finding ends with 1 and is named."""
    return status == 0 or (status == 1 and text and "[clang-diagnostic-" not in text)


def check_batches(tidy, options):
    """(whether all is well, number of batches, files that are to run alone)."""
    commands, well, count, alone = read_commands(options.build), True, 0, []
    folder, lists = options.build / "tidy", split(options.files, commands)
    while lists:
        alone += [files[0] for files in lists if len(files) == 1]
        batches = write_batches(folder, [files for files in lists if len(files) > 1], commands)
        count, lists = count + len(batches), []
        results = tidy.run(folder, [batch.path for batch in batches])
        for batch, (status, text) in zip(batches, results, strict=True):
            if not compiled(status, text):
                half = len(batch.files) // 2
                lists += [batch.files[:half], batch.files[half:]]
                continue
            print(batch.with_own_places(text), end="", flush=True)
            well &= status == 0
    return well, count, alone


def check(options):
    """Checks all files, prints what was found, and returns the exit status."""
    tidy, well, count, alone = Tidy(options.tidy), True, 0, options.files
    if not options.each:
        well, count, alone = check_batches(tidy, options)
    for status, text in tidy.run(options.build, alone):
        print(text, end="", flush=True)
        well &= status == 0
    if options.verbose:
        print(f"tidy: {count} batches, {len(alone)} files alone")
    return 0 if well else 1


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("build", type=Path, help="folder of compile_commands.json")
    parser.add_argument("tidy", help="the clang-tidy program")
    parser.add_argument("files", type=Path, nargs="*")
    parser.add_argument("--each", action="store_true", help="every source alone")
    parser.add_argument("-v", "--verbose", action="store_true", help="say how many batches")
    return check(parser.parse_args())


if __name__ == "__main__":
    sys.exit(main())
