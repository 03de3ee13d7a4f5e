"""Where the first weights of an imported model come from."""

from pathlib import Path

import pytest
import torch
from braid_run import run_braid, save, step_args
from safetensors.torch import load_file

FIXTURES = Path(__file__).resolve().parent.parent / "io" / "fixtures"


def first_state(folder, *words):
    """Parameters before the first step, whose rate is 0."""
    index = torch.tensor([[0, 1, 2], [3, 4, 0]])
    inputs = save(folder / "inputs.safetensors", {"x": index, "y": index.clone()})
    file = sorted(FIXTURES.glob("tied_*.pt2"))[0]
    run_braid(*step_args(file, inputs, 1, "sgd", {"lr": 0}, folder / "out"), *words)
    return load_file(folder / "out" / "state.safetensors")


def test_weights_are_those_of_the_file(tmp_path):
    state = first_state(tmp_path)
    assert state.keys() == {"emb.weight", "head.weight", "head.bias"}
    assert torch.equal(state["emb.weight"], state["head.weight"])
    assert all(tensor.abs().min() > 0 for tensor in state.values())


@pytest.mark.parametrize("value", [0, 2])
def test_initialisers_come_before_the_file(tmp_path, value):
    folders = [tmp_path / "a", tmp_path / "b"]
    for folder in folders:
        folder.mkdir()
    before = first_state(folders[0])
    after = first_state(folders[1], "--init-weights", f"head.bias=constant(value={value})")
    assert (after["head.bias"] == value).all()
    assert torch.equal(after["emb.weight"], before["emb.weight"])


def test_an_init_file_comes_before_all(tmp_path):
    given = {"emb.weight": torch.full((5, 4), 3.0), "head.bias": torch.arange(5.0)}
    given["head.weight"] = given["emb.weight"].clone()
    words = ["--init", save(tmp_path / "init.safetensors", given)]
    state = first_state(tmp_path, *words, "--init-weights", "head.bias=constant(value=7)")
    assert all(torch.equal(state[name], tensor) for name, tensor in given.items())
