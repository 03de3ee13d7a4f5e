"""What benchmarks train: models by name, with sizes that Braid and
the PyTorch twins of tests/models share."""

import sys
from dataclasses import dataclass, field
from pathlib import Path

import torch

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

import models  # noqa: E402


@dataclass
class Workload:
    title: str
    model: str
    batch: int
    classes: int  # labels or tokens are below this
    sizes: dict = field(default_factory=dict)

    def braid_name(self):
        """The model as Braid's programs take it."""
        sizes = {"batch": self.batch, **self.sizes}
        return f"{self.model}({','.join(f'{k}={v}' for k, v in sizes.items())})"

    def module(self, seed=0):
        return models.make(self.model, seed=seed, **self.sizes)

    def batch_of(self, seed=0):
        """The tensors of one member's batch, in the order of forward()."""
        tensors = models.batch(self.model, seed=seed, size=self.batch, **self.sizes)
        return tuple(tensors.values())

    def batches(self, members):
        """One batch for each member, stacked: [B, N, ...]."""
        each = [self.batch_of(seed) for seed in range(members)]
        return tuple(torch.stack(column) for column in zip(*each, strict=True))


WORKLOADS = {
    "mlp": Workload("tiny MLP 16-32-32-4, batch 16", "mlp", 16, 4),
    "lenet": Workload("LeNet on 28x28, batch 32", "lenet", 32, 10),
    "pointnet": Workload(
        "PointNet, width 32, 256 points, batch 8", "pointnet_cls", 8, 40,
        {"points": 256, "width": 32}),
    "transformer": Workload(
        "Transformer LM, 2 layers of 64, 32 of 256 tokens, batch 8", "transformer_lm", 8, 256,
        {"length": 32, "positions": 32, "vocab": 256, "width": 64, "heads": 2, "layers": 2}),
    "mobilenet": Workload(
        "MobileNetV3-Large, width 0.5, on 32x32, batch 16", "mobilenet_v3_large", 16, 10,
        {"side": 32, "width": 0.5, "classes": 10}),
    "resnet": Workload(
        "ResNet-18 on 32x32, batch 8", "resnet18", 8, 10, {"side": 32, "classes": 10}),
}
