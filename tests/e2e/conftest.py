"""What the end-to-end tests share: the binary, and where the twins lie."""

import os
import sys
from pathlib import Path

import pytest
import torch

TESTS = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(TESTS))  # for `models`
sys.path.insert(0, str(TESTS.parent / "scripts"))  # for `export_model`


@pytest.fixture(scope="session", autouse=True)
def one_thread():
    """PyTorch's sums must not depend on the machine."""
    torch.set_num_threads(1)


@pytest.fixture(scope="session", autouse=True)
def binary():
    from braid_run import braid_bin

    path = braid_bin()
    if not os.access(path, os.X_OK):
        pytest.fail(f"no program at {path}: run 'make build' or set BRAID_BIN")
    return path


@pytest.fixture(name="world", scope="session")
def hostile_world(tmp_path_factory):
    """What every case of a hostile world gets a copy of."""
    from hostile import make_world

    return make_world(tmp_path_factory.mktemp("world"))
