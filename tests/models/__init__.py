"""Plain PyTorch twins of the built-in models: same parameters, same loss.

Each twin is called with the tensors of a batch by name and returns the loss.
`make(name, **sizes)` builds one; `batch(name, ...)` draws tensors for it.
"""

import torch

from .lenet import LeNet
from .mlp import MLP
from .resblock import ResBlocks
from .transformer import Transformer

TWINS = {"mlp": MLP, "lenet": LeNet, "resblock": ResBlocks, "transformer": Transformer}


def make(name, dtype=torch.float32, seed=0, **sizes):
    torch.manual_seed(seed)
    return TWINS[name](**sizes).to(dtype)


def batch(name, dtype=torch.float32, seed=0, size=8, **sizes):
    """Tensors of one batch that fit `make(name, **sizes)`."""
    generator = torch.Generator().manual_seed(1000 + seed)
    tensors = TWINS[name].draw(generator, size, **sizes)
    return {key: t.to(dtype) if t.is_floating_point() else t for key, t in tensors.items()}
