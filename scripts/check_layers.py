"""Fails when an include points up the layers or lets torch out of its folders.

    check_layers.py [ROOT]      ROOT holds src/braid; default: this repository

Includes are followed transitively through everything under src/. A layer may
include itself and the layers before it in LAYERS. A torch header may be reached
only from src/braid/runtime/kernels/{aten,cpu,cuda} and src/braid/runtime/comm/c10d,
and never from CUDA sources (*.cu), which must compile with nvcc alone.
"""

import posixpath
import re
import sys
from pathlib import Path

LAYERS = (
    "base config graph ops passes models plan compile schedule balance "
    "runtime io data train tune cli"
).split()
TORCH_FOLDERS = ("ATen/", "torch/", "c10/", "caffe2/")
TORCH_ALLOWED = (
    *(f"braid/runtime/kernels/{backend}/" for backend in ("aten", "cpu", "cuda")),
    "braid/runtime/comm/c10d/",
)
SUFFIXES = {".h", ".cpp", ".cu", ".cuh"}
CUDA_SUFFIXES = {".cu", ".cuh"}
GENERATED = {"braid/version.h"}
UMBRELLA = "braid/braid.h"  # for programs: may include all layers, is included by none
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', re.MULTILINE)


class Tree:
    """All source files under ROOT/src, with their includes."""

    def __init__(self, root):
        self.src = root / "src"
        self.includes = {
            path.relative_to(self.src).as_posix(): INCLUDE.findall(path.read_text(encoding="utf-8"))
            for path in sorted((self.src / "braid").rglob("*"))
            if path.suffix in SUFFIXES
        }

    def resolve(self, file, include):
        """The included file of the tree, or None for one from outside."""
        beside = posixpath.normpath(posixpath.join(posixpath.dirname(file), include))
        return next((name for name in (include, beside) if name in self.includes), None)

    def torch_chain(self, file):
        """[file, ..., torch header], or None when none can be reached."""
        chains, seen = [[file]], {file}
        while chains:
            chain = chains.pop()
            for include in self.includes[chain[-1]]:
                if include.startswith(TORCH_FOLDERS):
                    return [*chain, include]
                target = self.resolve(chain[-1], include)
                if target and target not in seen:
                    seen.add(target)
                    chains.append([*chain, target])
        return None


def layer_of(file):
    return file.split("/")[1]


def layer_errors(tree, file):
    layer = LAYERS[-1] if file == UMBRELLA else layer_of(file)
    if layer not in LAYERS:
        yield f"src/{file}: '{layer}' is not a layer ({' '.join(LAYERS)})"
        return
    for include in tree.includes[file]:
        target = tree.resolve(file, include)
        if target is None:
            if include.startswith("braid/") and include not in GENERATED:
                yield f"src/{file}: includes {include}, which does not exist"
        elif layer_of(target) not in LAYERS:
            yield f"src/{file}: includes {target}, which is in no layer"
        elif LAYERS.index(layer_of(target)) > LAYERS.index(layer):
            yield f"src/{file}: '{layer}' must not include {target} (a higher layer)"


def torch_errors(tree, file):
    is_cuda = Path(file).suffix in CUDA_SUFFIXES
    if file.startswith(TORCH_ALLOWED) and not is_cuda:
        return
    chain = tree.torch_chain(file)
    if chain:
        yield f"src/{file}: reaches torch: {' -> '.join(chain)}"


def check(root):
    """All errors of the tree under `root`, as text."""
    tree = Tree(root)
    return [
        error
        for file in tree.includes
        for rule in (layer_errors, torch_errors)
        for error in rule(tree, file)
    ]


def main():
    here = Path(__file__).resolve().parent.parent
    errors = check(Path(sys.argv[1]) if len(sys.argv) > 1 else here)
    print(*errors, sep="\n", end="\n" if errors else "")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
