"""Twin of the built-in `mlp`."""

import torch
from torch import nn
from torch.nn import functional as F


class MLP(nn.Module):
    def __init__(self, features=16, hidden=32, layers=2, classes=4, dropout=0.0):
        super().__init__()
        widths = [features] + [hidden] * layers
        pairs = zip(widths[:-1], widths[1:], strict=True)
        self.layers = nn.ModuleList(nn.Linear(i, o) for i, o in pairs)
        self.drop = nn.Dropout(dropout)
        self.head = nn.Linear(hidden, classes)

    def forward(self, x, y):
        for layer in self.layers:
            x = self.drop(torch.relu(layer(x)))
        return F.cross_entropy(self.head(x), y)

    @staticmethod
    def draw(generator, size, features=16, classes=4, **_):
        x = torch.randn(size, features, generator=generator, dtype=torch.float64)
        return {"x": x, "y": torch.randint(classes, (size,), generator=generator)}
