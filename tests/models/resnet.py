"""Twins of `resnet18` and `resnet50`: torchvision's ResNet."""

import torch
from torch import nn
from torch.nn import functional as F


def conv(inputs, outputs, kernel, stride=1):
    return nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, bias=False)


class BasicBlock(nn.Module):
    expansion = 1

    def __init__(self, inputs, width, stride):
        super().__init__()
        self.conv1, self.bn1 = conv(inputs, width, 3, stride), nn.BatchNorm2d(width)
        self.conv2, self.bn2 = conv(width, width, 3), nn.BatchNorm2d(width)
        if stride != 1 or inputs != width:
            self.downsample = nn.Sequential(conv(inputs, width, 1, stride), nn.BatchNorm2d(width))

    def forward(self, x):
        y = torch.relu(self.bn1(self.conv1(x)))
        y = self.bn2(self.conv2(y))
        return torch.relu(y + (self.downsample(x) if hasattr(self, "downsample") else x))


class Bottleneck(nn.Module):
    expansion = 4

    def __init__(self, inputs, width, stride):
        super().__init__()
        outputs = 4 * width
        self.conv1, self.bn1 = conv(inputs, width, 1), nn.BatchNorm2d(width)
        self.conv2, self.bn2 = conv(width, width, 3, stride), nn.BatchNorm2d(width)
        self.conv3, self.bn3 = conv(width, outputs, 1), nn.BatchNorm2d(outputs)
        if stride != 1 or inputs != outputs:
            self.downsample = nn.Sequential(
                conv(inputs, outputs, 1, stride), nn.BatchNorm2d(outputs)
            )

    def forward(self, x):
        y = torch.relu(self.bn1(self.conv1(x)))
        y = torch.relu(self.bn2(self.conv2(y)))
        y = self.bn3(self.conv3(y))
        return torch.relu(y + (self.downsample(x) if hasattr(self, "downsample") else x))


class ResNet(nn.Module):
    block, blocks = BasicBlock, (2, 2, 2, 2)

    def __init__(self, channels=3, side=224, width=64, classes=1000, small_stem=0):
        super().__init__()
        self.pools = not small_stem
        self.conv1 = conv(channels, width, 3) if small_stem else conv(channels, width, 7, 2)
        self.bn1 = nn.BatchNorm2d(width)
        inputs = width
        for stage, count in enumerate(self.blocks):
            layer = nn.Sequential()
            for i in range(count):
                stride = 2 if stage > 0 and i == 0 else 1
                layer.append(self.block(inputs, width << stage, stride))
                inputs = (width << stage) * self.block.expansion
            setattr(self, f"layer{stage + 1}", layer)
        self.fc = nn.Linear(inputs, classes)
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")

    def forward(self, x, y):
        x = torch.relu(self.bn1(self.conv1(x)))
        x = F.max_pool2d(x, 3, 2, 1) if self.pools else x
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return F.cross_entropy(self.fc(F.adaptive_avg_pool2d(x, 1).flatten(1)), y)

    @staticmethod
    def draw(generator, size, channels=3, side=224, classes=1000, **_):
        shape = (size, channels, side, side)
        x = torch.randn(shape, generator=generator, dtype=torch.float64)
        return {"x": x, "y": torch.randint(classes, (size,), generator=generator)}


class ResNet18(ResNet):
    pass


class ResNet50(ResNet):
    block, blocks = Bottleneck, (3, 4, 6, 3)
