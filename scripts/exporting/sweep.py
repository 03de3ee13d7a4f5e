"""Several exports of one module, a file for each choice of values, and the job that
trains all of them."""

import ast
import itertools
import os
import re
from pathlib import Path

from .error import ExportError

HEADER = """\
# Trains every size of the module. Data, length and what else a job has: docs/job.md.
"""


def split_values(text):
    """'32,64' -> ["32", "64"]: several values; '[32,64]' and 'a' are one."""
    try:
        tree = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError):
        return text.split(",") if re.fullmatch(r"[\w.+-]+(,[\w.+-]+)+", text) else [text]
    if not isinstance(tree, ast.Tuple) or text.lstrip().startswith("("):
        return [text]
    return [ast.unparse(item) for item in tree.elts]


def choices(settings):
    """['hidden=32,64', 'depth=2'] -> one list of settings for each file, and the part of
    its name: [("hidden=32", ["hidden=32", "depth=2"]), ...]. The name of a single file is
    empty."""
    lists = []
    for text in settings:
        name, equals, values = text.partition("=")
        lists.append([f"{name}={v.strip()}" if equals else text for v in split_values(values)])
    found = []
    for choice in itertools.product(*lists):
        differing = [one for one, values in zip(choice, lists, strict=True) if len(values) > 1]
        found.append((",".join(differing), list(choice)))
    if len({safe(name) for name, _ in found}) < len(found):
        raise ExportError("--set: values of one name are equal, or differ in signs alone")
    return found


def safe(name):
    return re.sub(r"[^\w.=,+-]", "_", name)


def file_of(out, name):
    """net.pt2, "hidden=32" -> net-hidden=32.pt2"""
    path = Path(out)
    return str(path.with_name(f"{path.stem}-{safe(name)}{path.suffix}")) if name else out


def write_job(names, out, base=None):
    """Members for the files, in a job of their own or after the lines of `base`."""
    path = Path(base) if base else Path(out)
    path = path.with_name(f"{path.stem}-sweep.yaml") if base else path.with_suffix(".yaml")
    text = HEADER
    if base:
        try:
            text = Path(base).read_text()
        except OSError as error:
            raise ExportError(f"--job {base}: {error.strerror}") from error
        if re.search(r"^(members|model)\s*:", text, re.MULTILINE):
            raise ExportError(
                f"--job {base}: has a model or members already\nHINT: leave them out; the "
                f"sweep writes both into {path}"
            )
    lines = [text.rstrip("\n"), "members:"]
    for name in names:
        model = os.path.relpath(file_of(out, name), path.parent)
        lines.append(f"  - {{name: '{safe(name)}', model: './{model}'}}")
    path.write_text("\n".join(lines) + "\n")
    return path
