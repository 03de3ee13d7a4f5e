"""Plain PyTorch twins of the built-in models: same parameters, same loss.

Each twin is called with the tensors of a batch by name and returns the loss.
`make(name, **sizes)` builds one; `batch(name, ...)` draws tensors for it.
"""

import torch

from .bert import Bert
from .dcgan import Discriminator, Generator
from .gpt2 import GPT2
from .lenet import LeNet
from .lstm_lm import LSTMLM
from .mlp import MLP
from .mobilenet import MobileNetV3Large
from .pointnet import PointNetCls, PointNetSeg
from .resblock import ResBlocks
from .resnet import ResNet18, ResNet50
from .transformer import Transformer
from .transformer_lm import TransformerLM
from .vit import ViT

# Small ones, for tests of everything else.
TWINS = {"mlp": MLP, "lenet": LeNet, "resblock": ResBlocks, "transformer": Transformer}
ZOO = {
    "resnet18": ResNet18,
    "resnet50": ResNet50,
    "mobilenet_v3_large": MobileNetV3Large,
    "vit": ViT,
    "pointnet_cls": PointNetCls,
    "pointnet_seg": PointNetSeg,
    "dcgan_generator": Generator,
    "dcgan_discriminator": Discriminator,
    "transformer_lm": TransformerLM,
    "bert": Bert,
    "gpt2": GPT2,
    "lstm_lm": LSTMLM,
}
ALL = TWINS | ZOO


def make(name, dtype=torch.float32, seed=0, **sizes):
    torch.manual_seed(seed)
    return ALL[name](**sizes).to(dtype)


def batch(name, dtype=torch.float32, seed=0, size=8, **sizes):
    """Tensors of one batch that fit `make(name, **sizes)`."""
    generator = torch.Generator().manual_seed(1000 + seed)
    tensors = ALL[name].draw(generator, size, **sizes)
    return {key: t.to(dtype) if t.is_floating_point() else t for key, t in tensors.items()}
