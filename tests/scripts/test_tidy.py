"""Batches of sources for clang-tidy: who may share one, and what happens when it fails."""

import json
import os
import subprocess
import sys
from itertools import combinations
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "scripts" / "tidy.py"
sys.path.insert(0, str(ROOT / "scripts"))

import tidy  # noqa: E402


def source(inside="", outside=""):
    return f"namespace braid {{\nnamespace {{\n\n{inside}\n\n}}  // namespace\n\n{outside}\n}}\n"


def clash(one, other):
    return tidy.clash(tidy.Names(one), tidy.Names(other))


CLASHES = {
    "a function of the same name": ("int f(int x) {\n}", "void f() {\n}"),
    "a function that returns a template": ("std::map<int, A<B>> f(int x) {\n}", "int f() {\n}"),
    "a function after its return type": ("std::vector<std::string>\nf(int x) {\n}", "int f();"),
    "a struct": ("struct Row {\n};", "struct Row {\n};"),
    "a type and a function": ("enum class Row { a };", "int Row() {\n}"),
    "a template": ("template <class T>\nT f(T x) {\n}", "int f() {\n}"),
    "a constant": ("constexpr int kA = 1;", "const char* kA[] = {};"),
    "a macro": ("#define A 1", "#define A 1"),
    "aliases that differ": ("using Kind = A::Kind;", "using Kind = B::Kind;"),
    "a using declaration": ("using config::Node;", "int f(const Node& x) {\n}"),
    "an alias in a function": ("using Kind = A::Kind;", "int f() {\n  using Kind = A::Kind;\n}"),
    "a call of another function": ("int f() {\n}", "int g() {\n  return f();\n}"),
}
NO_CLASHES = {
    "other names": ("int f() {\n}", "int g() {\n}"),
    "the same alias": ("namespace fs = std::filesystem;", "namespace fs = std::filesystem;"),
    "a comment": ("int f() {\n}", "// f\nint g() {\n}"),
    "a string": ("int f() {\n}", 'int g() {\n  return "f";\n}'),
    "a member": ("int f() {\n}", "int g() {\n  return a.f() + b->f() + c::f();\n}"),
}


@pytest.mark.parametrize("name", CLASHES)
def test_clash(name):
    one, other = map(source, CLASHES[name])
    assert clash(one, other) and clash(other, one)


@pytest.mark.parametrize("name", NO_CLASHES)
def test_no_clash(name):
    one, other = map(source, NO_CLASHES[name])
    assert not clash(one, other) and not clash(other, one)


def test_alias_inside_and_outside_of_the_unnamed_namespace_clash():
    alias = "using Json = nlohmann::json;"
    assert clash(source(inside=alias), source(outside=alias))


def test_public_function_may_be_called():
    caller = source("int g() {\n  return f();\n}")
    assert not clash(source(outside="int f() {\n}"), caller)


def our_names():
    files = sorted((ROOT / "src" / "braid").glob("[dit]*/**/*.cpp"))
    return {file: tidy.Names(file.read_text()) for file in files}


def test_batches_of_this_repository():
    names = our_names()
    batches = tidy.make_batches(names, size=9)
    assert sorted(file for batch in batches for file in batch) == sorted(names)
    assert max(map(len, batches)) == 9
    assert len(batches) < len(names) / 3
    for batch in batches:
        for one, other in combinations(batch, 2):
            assert not tidy.clash(names[one], names[other]), (one, other)


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
