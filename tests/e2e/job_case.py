"""A job beside the plain PyTorch script that does the same."""

import copy

import models
import numpy as np
import torch
from braid_run import model_text, save
from data_order import batches
from job_run import far, save_init, torch_dtype, train
from plain_training import train_plain

SAMPLES = 38
SIZES = {
    "mlp": {"features": 6, "hidden": 8, "classes": 4},
    "lenet": {"side": 14, "classes": 7},
    "resblock": {"channels": 4, "side": 8, "classes": 6},
    "mobilenet_v3_large": {"side": 33, "width": 0.2, "classes": 6, "dropout": 0},
}


def draw_images(name, dtype, size=SAMPLES, seed=0):
    return models.batch(name, torch_dtype(dtype), size=size, seed=seed, **SIZES[name])


def data_section(folder, data, source):
    """The tensors as files, and the section of the job that reads them."""
    if source == "safetensors":
        return {"source": source, "file": str(save(folder / "data.safetensors", data))}
    for name, tensor in data.items():
        np.save(folder / f"{name}.npy", tensor.numpy())
    return {"source": "npy", "files": [f"{name}={name}.npy" for name in data]}


class Case:
    """A twin, its data as files, and the job that trains the same."""

    def __init__(self, folder, name, dtype="f64", source="safetensors", data=None, **extra):
        self.folder, self.name = folder, name
        self.twin = models.make(name, torch_dtype(dtype), seed=2, **SIZES[name])
        self.data = data or draw_images(name, dtype)
        self.job = {
            "model": model_text(name, SIZES[name]),
            "data": data_section(folder, self.data, source),
            "optimizer": {"kind": "adamw", "lr": 2e-3, "weight_decay": 0.1},
            "steps": 9,
            "batch_size": 16,
            "init": save_init(folder / "init.safetensors", self.twin),
            "dtype": dtype,
            "threads": 1,
            "log_every": 1,
        } | extra

    def batches(self):
        return batches(self.data, self.job, self.job["steps"])

    def plain(self, parameters=None, **options):
        """PyTorch's losses; the twin has learned afterwards."""
        values = {k: v for k, v in self.job["optimizer"].items() if k != "kind"}
        optimizer = torch.optim.AdamW(parameters or self.twin.parameters(), **values)
        return train_plain(self.twin, self.batches(), optimizer, **options)

    def check(self, tolerance=1e-9, **options):
        run = train(self.folder, self.job)
        first = copy.deepcopy(self.twin.state_dict())
        want = self.plain(**options)
        assert far(run.losses, want) < tolerance
        assert far(run.state(), self.twin.state_dict()) < tolerance
        assert far(first, self.twin.state_dict()) > 1e-3, "nothing was learned"
        return run
