"""Fails when objects of one instruction set define functions that any may use.

    check_loops.py NM [LEVEL OBJECT.o ...]...

The linker keeps one copy of an inline function for the whole program. Were it
one that was compiled for newer machines, older ones could not run it: every
such function must lie in its level's own namespace.
"""

import subprocess
import sys


def shared_symbols(listing, namespace):
    """Weak definitions in the output of nm -C that are not the level's own."""
    own = f"braid::runtime::{namespace}::"
    found = []
    for line in listing.splitlines():
        kind, _, name = line.strip().partition(" ")[2].partition(" ")
        if kind in ("W", "V", "u") and own not in name:
            found.append(name)
    return found


def main():
    nm, *words = sys.argv[1:]
    level, failed = None, False
    for word in words:
        if not word.endswith(".o"):
            level = word
            continue
        listing = subprocess.run([nm, "-C", "--defined-only", word], check=True,
                                 capture_output=True, text=True).stdout
        for name in shared_symbols(listing, level):
            print(f"[loops] expected functions of {level} alone, got '{name}' ({word})\n"
                  "HINT: mark it always_inline, or move it into BRAID_LEVEL's namespace",
                  file=sys.stderr)
            failed = True
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
