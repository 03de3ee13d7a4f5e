"""The layer check must pass a good tree and name every kind of bad include."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "scripts" / "check_layers.py"

GOOD = {
    "base/shape.h": "#include <vector>",
    "graph/graph.h": '#include "braid/base/shape.h"\n#include "braid/version.h"',
    "runtime/tensor.h": '#include "braid/graph/graph.h"',
    "runtime/kernels/aten/linear.cpp": '#include "../../tensor.h"\n#include <ATen/ATen.h>',
    "runtime/kernels/cpu/helper.h": "#include <ATen/Parallel.h>",
    "runtime/kernels/cuda/stream.cpp": "#include <c10/cuda/CUDAStream.h>",
    "runtime/kernels/cuda/adam.cu": '#include "braid/base/shape.h"',
    "cli/main.cpp": '#include "braid/runtime/tensor.h"',
    "braid.h": '#include "braid/runtime/tensor.h"',
}


def run(tmp_path, files):
    for name, text in files.items():
        path = tmp_path / "src" / "braid" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return subprocess.run([sys.executable, SCRIPT, tmp_path], capture_output=True, text=True)


def test_good_tree_passes(tmp_path):
    result = run(tmp_path, GOOD)
    assert (result.returncode, result.stdout) == (0, "")


BAD = {
    "the umbrella header inside of the library": (
        {"cli/main.cpp": '#include "braid/braid.h"'},
        "includes braid/braid.h, which is in no layer",
    ),
    "upward include": (
        {"base/shape.cpp": '#include "braid/graph/graph.h"'},
        "'base' must not include braid/graph/graph.h",
    ),
    "upward include, relative": (
        {"base/shape.cpp": '#include "../graph/graph.h"'},
        "'base' must not include",
    ),
    "torch in a low layer": (
        {"ops/linear.cpp": "  #  include <torch/types.h>"},
        "src/braid/ops/linear.cpp: reaches torch",
    ),
    "torch through two headers": (
        {
            "runtime/executor.h": '#include "braid/runtime/detail.h"',
            "runtime/detail.h": '#include "braid/runtime/kernels/cpu/helper.h"',
            "cli/verbs/step.cpp": '#include "braid/runtime/executor.h"',
        },
        "src/braid/cli/verbs/step.cpp: reaches torch: braid/cli/verbs/step.cpp -> "
        "braid/runtime/executor.h -> braid/runtime/detail.h -> "
        "braid/runtime/kernels/cpu/helper.h -> ATen/Parallel.h",
    ),
    "torch in the stub backend": (
        {"runtime/kernels/no_cuda/stub.cpp": "#include <c10/core/Device.h>"},
        "no_cuda/stub.cpp: reaches torch",
    ),
    "torch in the kernel table": (
        {"runtime/kernels/table.h": "#include <ATen/core/Tensor.h>"},
        "kernels/table.h: reaches torch",
    ),
    "torch in a CUDA source": (
        {"runtime/kernels/cuda/adam.cu": "#include <ATen/ATen.h>"},
        "cuda/adam.cu: reaches torch",
    ),
    "unknown layer": ({"misc/util.h": ""}, "'misc' is not a layer"),
    "missing header": (
        {"base/shape.cpp": '#include "braid/base/gone.h"'},
        "braid/base/gone.h, which does not exist",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_tree_fails(tmp_path, name):
    files, message = BAD[name]
    result = run(tmp_path, {**GOOD, **files})
    assert result.returncode == 1
    assert message in result.stdout


def test_this_repository_passes():
    result = subprocess.run([sys.executable, SCRIPT], capture_output=True, text=True)
    assert result.returncode == 0, result.stdout
