"""Which C++ sources can be compiled together, as one.

    batches.py SIZE FILE...    a line for each batch of up to SIZE files, with tabs between

Nearly all the time of compiling goes into the headers that every source includes, and
is spent once per batch. Sources share a batch if none speaks of a name that another
has for itself, in its own text or by a header. That is found by reading, and may miss
something.
"""

import re
import sys
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = (ROOT / "src", ROOT / "tests")  # where headers of ours are looked for
INCLUDE = re.compile(r'^#include "([^"]+)"', re.MULTILINE)
NOT_CODE = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"(?P<mark>[^(\s]*)\(.*?\)(?P=mark)"'
    r"|\"(?:\\.|[^\"\\\n])*\"|(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])*'",
    re.DOTALL,
)
TEMPLATE_ARGUMENTS = re.compile(r"<[^<>;{}]*>")
UNNAMED = re.compile(r"^namespace \{$.*?^\}  // namespace$", re.MULTILINE | re.DOTALL)
NAMESPACE = re.compile(r"^namespace [\w:]+ \{", re.MULTILINE)
ALIAS = re.compile(r"^(?:using|namespace)\b[^;{]*?(\w+)\s*(?:=[^;{]*)?;", re.MULTILINE)
MACRO = re.compile(r"^#\s*define\s+(\w+)", re.MULTILINE)
TYPE = re.compile(r"^(?:struct|class|union|enum(?: class)?|concept)\s+(\w+)")
# What stands at column 0 up to its parameters, body or value: ends with its name.
HEAD = re.compile(r"^(?!namespace\b)[A-Za-z_][^\n({\[=;]*", re.MULTILINE)
CALLED = re.compile(r"(operator|static_assert|(TYPED_)?TEST(_[FP])?|INSTANTIATE_\w+)$")
LAST_WORD = re.compile(r"(?<![:\w])([A-Za-z_]\w*)\s*$")  # not of a qualified name
SPOKEN = re.compile(r"(?<![\w.:])(?<!->)[A-Za-z_]\w*")  # not a member, not qualified


def code_of(text):
    """The text without comments and literals."""
    return NOT_CODE.sub('""', text)


def defined_at_column_0(code):
    """Names of functions, types and values; namespaces are not indented."""
    code = ALIAS.sub("", code).replace("[[nodiscard]] ", "")
    while TEMPLATE_ARGUMENTS.search(code):
        code = TEMPLATE_ARGUMENTS.sub("", code)
    heads = [head.removeprefix("template").lstrip() for head in HEAD.findall(code)]
    found = [TYPE.search(head) or LAST_WORD.search(head) for head in heads]
    return {name[1] for name in found if name and not CALLED.match(name[1])}


def own_names(text):
    """Names that a source has for itself, as {name: alias}.

    An alias may be repeated, word for word and in the same namespace, so these are
    kept; for all else there is None.
    """
    inside = code_of("\n".join(UNNAMED.findall(text)))
    outside = code_of(UNNAMED.sub("", text))
    names = dict.fromkeys(defined_at_column_0(inside) | set(MACRO.findall(inside + outside)))
    for part in (inside, outside):
        for alias in ALIAS.finditer(part):
            place = (part is inside, *NAMESPACE.findall(outside))
            names[alias[1]] = (*place, *alias[0].split())
    return names


@cache
def headers_of(file):
    """The headers of ours that a file includes, and those that they include."""
    found = set()
    for name in INCLUDE.findall(file.read_text(encoding="utf-8")):
        places = (folder / name for folder in (file.parent, *FOLDERS))
        header = next((place for place in places if place.is_file()), None)
        if header is not None and header.resolve() not in found:
            found |= {header.resolve()} | headers_of(header.resolve())
    return frozenset(found)


@cache
def defined_in(header):
    """What a header defines for all who include it."""
    code = code_of(header.read_text(encoding="utf-8"))
    return defined_at_column_0(code) | {alias[1] for alias in ALIAS.finditer(code)}


def names_of(file):
    """The Names of a source, with those of its headers."""
    headers = headers_of(file.resolve())
    return Names(file.read_text(encoding="utf-8"), set().union(*map(defined_in, headers)))


class Names:
    """What one source defines for itself, all names it speaks of, and its headers'."""

    def __init__(self, text, included=frozenset()):
        self.own = own_names(text)
        self.spoken = set(SPOKEN.findall(code_of(text)))
        self.included = included

    def in_the_way_of(self, other):
        # A header that both include is no surprise to either.
        shared = self.own.keys() & (other.spoken | (other.included - self.included))
        return any(self.own[n] is None or self.own[n] != other.own.get(n) for n in shared)


def clash(one, other):
    """Whether two sources with these names may mean something else when together."""
    return one.in_the_way_of(other) or other.in_the_way_of(one)


def make_batches(names, size):
    """Lists of files without a clash; `names` has the Names of each file."""
    batches = []
    clashes = {a: {b for b in names if a != b and clash(names[a], names[b])} for a in names}
    for file in sorted(names, key=lambda file: -len(clashes[file])):  # the hardest first
        fitting = (b for b in batches if len(b) < size and clashes[file].isdisjoint(b))
        batch = next(fitting, None)
        if batch is None:
            batches.append(batch := [])
        batch.append(file)
    return batches


def main():
    size, files = int(sys.argv[1]), sys.argv[2:]
    names = {file: names_of(Path(file)) for file in files}
    for batch in make_batches(names, size):
        print(*batch, sep="\t")


if __name__ == "__main__":
    main()
