"""Twin of the built-in `resblock`."""

import torch
from torch import nn
from torch.nn import functional as F


class Block(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(channels)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(channels)

    def forward(self, x):
        y = torch.relu(self.bn1(self.conv1(x)))
        return torch.relu(x + self.bn2(self.conv2(y)))


class ResBlocks(nn.Module):
    def __init__(self, channels=16, side=16, blocks=2, classes=10, dropout=0.0):
        super().__init__()
        self.stem = nn.Conv2d(3, channels, 3, padding=1, bias=False)
        self.stem_bn = nn.BatchNorm2d(channels)
        self.blocks = nn.ModuleList(Block(channels) for _ in range(blocks))
        self.drop = nn.Dropout(dropout)
        self.head = nn.Linear(channels, classes)

    def forward(self, x, y):
        x = F.avg_pool2d(torch.relu(self.stem_bn(self.stem(x))), 2)
        for block in self.blocks:
            x = block(x)
        return F.cross_entropy(self.head(self.drop(x).mean((2, 3))), y)

    @staticmethod
    def draw(generator, size, side=16, classes=10, **_):
        x = torch.randn(size, 3, side, side, generator=generator, dtype=torch.float64)
        return {"x": x, "y": torch.randint(classes, (size,), generator=generator)}
