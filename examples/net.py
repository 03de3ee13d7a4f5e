"""A plain PyTorch module, for examples/pt2_job.yaml."""

from torch import nn


class Net(nn.Module):
    def __init__(self, classes=10):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2),
        )  # fmt: skip
        self.drop = nn.Dropout(0.2)
        self.head = nn.Linear(32 * 7 * 7, classes)

    def forward(self, images):
        return self.head(self.drop(self.body(images).flatten(1)))
