"""Says where torch lies, without importing it: importing takes seconds.

Prints `folder;version;cuda` (cuda is `none` for a CPU build), followed by the
folders of the NVIDIA wheels, all separated by semicolons: a CMake list.
Exits with 1 and says why when torch is missing or older than --minimum.
"""

import argparse
import importlib.util
import runpy
import sys
from pathlib import Path


def version_key(version):
    return tuple(int(part) for part in version.split("+")[0].split(".")[:2])


def find_torch(minimum):
    spec = importlib.util.find_spec("torch")
    if spec is None or spec.origin is None:
        sys.exit(f"[find_torch] {sys.executable} has no torch; need >= {minimum}")
    folder = Path(spec.origin).parent
    facts = runpy.run_path(str(folder / "version.py"))
    version = str(facts["__version__"])
    if version_key(version) < version_key(minimum):
        sys.exit(f"[find_torch] {sys.executable} has torch {version}; need >= {minimum}")
    return folder, version, facts.get("cuda") or "none"


def nvidia_folders(torch_folder):
    return sorted(p.parent for p in torch_folder.parent.glob("nvidia/*/lib"))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minimum", default="2.11")
    folder, version, cuda = find_torch(parser.parse_args().minimum)
    print(";".join(map(str, [folder, version, cuda, *nvidia_folders(folder)])))


if __name__ == "__main__":
    main()
