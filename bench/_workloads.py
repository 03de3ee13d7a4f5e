"""What benchmarks train: models by name, with sizes that Braid and
the PyTorch twins of tests/models share."""

import sys
from dataclasses import dataclass, field, replace
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
    channels_last: bool = False  # of one model on a GPU
    small: dict = field(default_factory=dict)  # other sizes, to try it on a CPU

    def shrunk(self):
        sizes = self.sizes | self.small
        classes = sizes.get("vocab", self.classes)
        return replace(self, title=f"{self.title}, shrunk", batch=4, classes=classes, sizes=sizes)

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

# Dropout is that of the models' defaults: none in the MLP, the discriminator and the
# ResNet, 0.2 before the last layer of MobileNet, 0.3 in the head of PointNet, 0.1 in
# the language models, of attention weights too.
TEXT = {"length": 32, "positions": 32, "vocab": 33000}
SMALL_TEXT = {"length": 8, "vocab": 50, "width": 16, "heads": 2, "layers": 2}
GPU_WORKLOADS = {
    "mlp": Workload(
        "MLP 784-512-512-10, batch 128", "mlp", 128, 10,
        {"features": 784, "hidden": 512, "layers": 2, "classes": 10}, small={"hidden": 32}),
    "dcgan": Workload(
        "DCGAN discriminator on 64x64, batch 64", "dcgan_discriminator", 64, 2,
        {"side": 64, "width": 64}, True, {"side": 16, "width": 4}),
    "resnet18": Workload(
        "ResNet-18 with CIFAR stem on 32x32, batch 128", "resnet18", 128, 10,
        {"side": 32, "classes": 10, "small_stem": 1}, True, {"side": 16, "width": 4}),
    "mobilenet": Workload(
        "MobileNetV3-Large on 32x32, batch 128", "mobilenet_v3_large", 128, 10,
        {"side": 32, "width": 1, "classes": 10}, True, {"width": 0.2}),
    "pointnet": Workload(
        "PointNet without feature transform, 2500 points, batch 32", "pointnet_cls", 32, 40,
        {"points": 2500, "feature_transform": 0}, small={"points": 20, "width": 4}),
    "bert": Workload(
        "BERT-medium (8 layers of 512, 8 heads), masked LM, 32 of 33000 tokens, batch 32",
        "bert", 32, 33000, TEXT | {"width": 512, "heads": 8, "layers": 8}, small=SMALL_TEXT),
    "transformer_lm": Workload(
        "Transformer LM (2 layers of 128, 2 heads), 32 of 33000 tokens, batch 20",
        "transformer_lm", 20, 33000, TEXT | {"width": 128, "heads": 2, "layers": 2},
        small=SMALL_TEXT),
    "gpt2": Workload(
        "GPT-2 small (12 layers of 768, 12 heads), 128 of 50257 tokens, batch 4", "gpt2", 4,
        50257, {"length": 128}, small=SMALL_TEXT),
}


def find_workload(text):
    """By name: "mlp" of those for CPUs, "gpu:mlp", or "small:mlp", the same shrunk."""
    kind, _, name = text.rpartition(":")
    if not kind:
        return WORKLOADS[name]
    return GPU_WORKLOADS[name].shrunk() if kind == "small" else GPU_WORKLOADS[name]
