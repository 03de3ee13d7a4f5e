"""Finds what a dotted name stands for; errors of the user's own code are shown as such."""

import importlib
import importlib.util
import os
import sys
import traceback
from difflib import get_close_matches
from pathlib import Path

from .error import ExportError
from .refusal import first_line

HERE = Path(__file__).parent
OWN = (str(HERE), str(HERE.with_name("export_model.py")), str(Path(importlib.__file__).parent), "<")

SHOWN = 8  # lines of a traceback


def own_frames(error):
    """Lines of the traceback that are the user's: not ours, not of importlib."""
    frames = traceback.extract_tb(error.__traceback__)
    return [frame for frame in frames if not frame.filename.startswith(OWN)]


def users_error(what, error, hint=""):
    """An ExportError with the user's part of the traceback, outermost first."""
    frames = own_frames(error)
    lines = [f"  {f.filename}:{f.lineno}: {f.line}" for f in frames[-SHOWN:]]
    if len(frames) > SHOWN:
        lines.insert(0, "  ...")
    if isinstance(error, SyntaxError) and error.filename:
        lines.append(f"  {error.filename}:{error.lineno}: {(error.text or '').strip()}")
    lines.append(f"  {first_line(error)}")
    return ExportError("\n".join([what, *lines]) + hint)


def exists(module):
    """Whether a module can be found; packages before it are imported."""
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError as error:
        # 'a.b' where a is a module: there is nothing inside it.
        if error.name and (module + ".").startswith(error.name + "."):
            return False
        raise


def longest_module(parts):
    """The longest prefix of the name that is a module, imported; None: there is none."""
    found = None
    for end in range(1, len(parts) + 1):
        prefix = ".".join(parts[:end])
        try:
            if not exists(prefix):
                break
            found = importlib.import_module(prefix), end
        except (Exception, SystemExit) as error:
            hint = ""
            if isinstance(error, ModuleNotFoundError) and error.name:
                hint = f"\nHINT: '{error.name}' is what is missing; install it, or set PYTHONPATH"
            raise users_error(f"importing '{prefix}' fails", error, hint) from error
    return found


def find_object(dotted):
    """The object behind 'package.module.Class', the folder of the user included."""
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    parts = dotted.split(".")
    if not all(part.isidentifier() for part in parts):
        raise ExportError(
            f"'{dotted}' is no dotted name\nHINT: nets.Net is the class Net in nets.py"
        )
    found = longest_module(parts)
    if found is None:
        raise ExportError(
            f"no module '{parts[0]}'\nHINT: run where it can be imported, or set PYTHONPATH"
        )
    thing, taken = found
    for number, name in enumerate(parts[taken:], taken):
        if not hasattr(thing, name):
            raise unknown_name(".".join(parts[:number]), thing, name)
        thing = getattr(thing, name)
    return thing


def unknown_name(prefix, thing, name):
    place = getattr(thing, "__file__", None)
    near = get_close_matches(name, [n for n in dir(thing) if not n.startswith("_")], n=1)
    hint = f"\nHINT: did you mean '{near[0]}'?" if near else ""
    return ExportError(f"'{prefix}' has no '{name}'" + (f" ({place})" if place else "") + hint)
