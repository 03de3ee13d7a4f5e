"""Twin of the built-in `lenet`."""

import torch
from torch import nn
from torch.nn import functional as F


class LeNet(nn.Module):
    def __init__(self, channels=1, side=28, classes=10, dropout=0.0):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, 6, 5, padding=2)
        self.conv2 = nn.Conv2d(6, 16, 5)
        rest = (side // 2 - 4) // 2
        self.fc1 = nn.Linear(16 * rest * rest, 120)
        self.drop = nn.Dropout(dropout)
        self.fc2 = nn.Linear(120, 84)
        self.fc3 = nn.Linear(84, classes)

    def forward(self, x, y):
        x = F.max_pool2d(torch.relu(self.conv1(x)), 2)
        x = F.max_pool2d(torch.relu(self.conv2(x)), 2)
        x = self.drop(torch.relu(self.fc1(x.flatten(1))))
        return F.cross_entropy(self.fc3(torch.relu(self.fc2(x))), y)

    @staticmethod
    def draw(generator, size, channels=1, side=28, classes=10, **_):
        shape = (size, channels, side, side)
        x = torch.randn(shape, generator=generator, dtype=torch.float64)
        return {"x": x, "y": torch.randint(classes, (size,), generator=generator)}
