"""A small network, its twin in PyTorch and one batch, as files."""

import models
import torch
from braid_run import save

SIZES = {"features": 6, "hidden": 10, "layers": 1, "classes": 3}
MODEL = "mlp(hidden=10,layers=1,classes=3)"


def write_mlp(folder):
    """inputs.safetensors and init.safetensors; gives the folder, the twin and the batch."""
    torch.manual_seed(3)
    twin = models.make("mlp", torch.float64, **SIZES)
    inputs = models.batch("mlp", torch.float64, size=16, **SIZES)
    save(folder / "inputs.safetensors", inputs)
    save(folder / "init.safetensors", twin.state_dict())
    return folder, twin, inputs
