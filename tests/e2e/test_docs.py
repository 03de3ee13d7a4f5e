"""Every block of README.md and docs/ that can run is run as it is written."""

from pathlib import Path

import pytest
from braid_run import braid_bin
from docs_blocks import PAGES, Session, blocks_of, compile_blocks, compiled_text, read_blocks

PAGE = Path("page.md")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_blocks_of_a_page_run(page, tmp_path):
    blocks = read_blocks(page)
    problems = [problem for block in blocks if (problem := block.problem())]
    assert not problems, "\n".join(problems)
    session = Session(tmp_path, braid_bin())
    for block in blocks:
        if block.language != "cpp" or block.mark == "file":
            session.run(block)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_cpp_blocks_of_a_page_compile(page, tmp_path):
    blocks = [b for b in read_blocks(page) if b.language == "cpp" and b.mark != "not run"]
    if blocks:
        compile_blocks(blocks, tmp_path)


def only(text):
    (block,) = blocks_of(text, PAGE)
    return block


def test_blocks_have_a_language_a_place_and_a_mark():
    text = "# A\n\n- item\n\n  ```sh\n  one\n    two\n  ```\n"
    text += "\n<!-- long: slow -->\n```yaml\na: 1\n```\n"
    first, second = blocks_of(text, PAGE)
    assert (first.language, first.text, first.line, first.mark) == ("sh", "one\n  two\n", 5, "")
    assert (second.language, second.text, second.where) == ("yaml", "a: 1\n", "page.md:11")
    assert (second.mark, second.told) == ("long", "slow")
    assert first.problem() is None and second.problem() is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("```\na\n```\n", "the language is ''"),
        ("```ruby\na\n```\n", "the language is 'ruby'"),
        ("<!-- skip: it fails -->\n```sh\na\n```\n", "the comment says 'skip'"),
        ("<!-- not run: -->\n```sh\na\n```\n", "'not run' says nothing"),
        ("```cmake\na\n```\n", "a cmake block is a file"),
        ("<!-- in: int x; -->\n```cpp\na\n```\n", "'in' has no BLOCK"),
    ],
)
def test_a_block_that_nobody_knows_is_a_mistake(text, said):
    assert said in only(text).problem()


def test_a_comment_counts_for_the_block_after_it_alone():
    text = "<!-- not run: why -->\n```sh\na\n```\n\n```sh\nb\n```\n"
    assert [block.mark for block in blocks_of(text, PAGE)] == ["not run", ""]


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("sh", "false\ntrue\n"),
        ("sh", "braid train missing.yaml\n"),
        ("python", "import no_such_module\n"),
        ("yaml", "model: lenet\ndata: glyphs\n"),
        ("graph", "braid-graph 1\noutput %1\n"),
    ],
)
def test_a_block_that_fails_is_reported_with_its_place(language, text, tmp_path):
    block = only(f"```{language}\n{text}```\n")
    with pytest.raises(AssertionError, match=r"page.md:1 ended with [1-9]"):
        Session(tmp_path, braid_bin()).run(block)


def test_cpp_blocks_are_one_file_with_their_includes_first():
    text = "<!-- in: #include <map>\nvoid f() {\nBLOCK\n} -->\n```cpp\nint x;\n```\n"
    made = compiled_text([only(text)])
    assert made.index("#include <map>") < made.index("namespace block_5")
    assert "void f() {\nint x;\n" in made


def test_cpp_blocks_that_do_not_compile_are_reported(tmp_path):
    block = only("```cpp\nint x = missing;\n```\n")
    with pytest.raises(AssertionError, match="page.md:1.*missing"):
        compile_blocks([block], tmp_path)
