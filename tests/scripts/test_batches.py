"""Which C++ sources may be compiled together."""

import subprocess
import sys
from itertools import combinations
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "scripts" / "batches.py"
sys.path.insert(0, str(ROOT / "scripts"))

import batches  # noqa: E402


def source(inside="", outside=""):
    return f"namespace braid {{\nnamespace {{\n\n{inside}\n\n}}  // namespace\n\n{outside}\n}}\n"


def clash(one, other):
    return batches.clash(batches.Names(one), batches.Names(other))


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
    return {file: batches.names_of(file) for file in files}


def test_batches_of_this_repository():
    names = our_names()
    lists = batches.make_batches(names, size=9)
    assert sorted(file for batch in lists for file in batch) == sorted(names)
    assert max(map(len, lists)) == 9
    assert len(lists) < len(names) / 3
    for batch in lists:
        for one, other in combinations(batch, 2):
            assert not batches.clash(names[one], names[other]), (one, other)


def test_tests_of_a_suite_in_two_files_are_no_clash():
    one, other = (source(f"TEST(Suite, {name}) {{\n}}") for name in "ab")
    assert not clash(one, other)


def test_a_name_of_a_header_is_in_the_way_of_who_does_not_include_it(tmp_path):
    (tmp_path / "deep.h").write_text("namespace braid {\nusing Result = int;\n}\n")
    (tmp_path / "wide.h").write_text('#include "deep.h"\n')
    texts = {
        "user": '#include "wide.h"\n' + source("int g() {\n}"),
        "other": source("struct Result {\n};"),
        "both": '#include "deep.h"\n' + source("int Result() {\n}"),
    }
    names = {}
    for name, text in texts.items():
        (tmp_path / f"{name}.cpp").write_text(text)
        names[name] = batches.names_of(tmp_path / f"{name}.cpp")
    assert batches.clash(names["user"], names["other"])
    assert not batches.clash(names["user"], names["both"])


def test_a_line_for_each_batch(tmp_path):
    texts = {"a.cpp": "int f() {\n}", "b.cpp": "int g() {\n}", "c.cpp": "int f() {\n}"}
    for name, text in texts.items():
        (tmp_path / name).write_text(source(text))
    done = subprocess.run(
        [sys.executable, SCRIPT, "8", *texts], cwd=tmp_path, capture_output=True, text=True
    )
    assert (done.stdout, done.stderr) == ("a.cpp\tb.cpp\nc.cpp\n", "")
