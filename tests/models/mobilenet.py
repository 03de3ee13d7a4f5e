"""Twin of `mobilenet_v3_large`: torchvision's."""

from torch import nn
from torch.nn import functional as F

from .resnet import ResNet

LARGE = [  # kernel, expanded, outputs, squeeze, activation, stride
    (3, 16, 16, False, nn.ReLU, 1),
    (3, 64, 24, False, nn.ReLU, 2),
    (3, 72, 24, False, nn.ReLU, 1),
    (5, 72, 40, True, nn.ReLU, 2),
    (5, 120, 40, True, nn.ReLU, 1),
    (5, 120, 40, True, nn.ReLU, 1),
    (3, 240, 80, False, nn.Hardswish, 2),
    (3, 200, 80, False, nn.Hardswish, 1),
    (3, 184, 80, False, nn.Hardswish, 1),
    (3, 184, 80, False, nn.Hardswish, 1),
    (3, 480, 112, True, nn.Hardswish, 1),
    (3, 672, 112, True, nn.Hardswish, 1),
    (5, 672, 160, True, nn.Hardswish, 2),
    (5, 960, 160, True, nn.Hardswish, 1),
    (5, 960, 160, True, nn.Hardswish, 1),
]


def make_divisible(value, divisor=8):
    new = max(divisor, int(value + divisor / 2) // divisor * divisor)
    return new + divisor if new < 0.9 * value else new


def conv_norm(inputs, outputs, kernel, stride=1, groups=1, act=None):
    layers = [
        nn.Conv2d(inputs, outputs, kernel, stride, (kernel - 1) // 2, groups=groups, bias=False),
        nn.BatchNorm2d(outputs, eps=0.001, momentum=0.01),
    ]
    return nn.Sequential(*layers, *([act()] if act else []))


class SqueezeExcitation(nn.Module):
    def __init__(self, channels):
        super().__init__()
        squeezed = make_divisible(channels // 4)
        self.fc1 = nn.Conv2d(channels, squeezed, 1)
        self.fc2 = nn.Conv2d(squeezed, channels, 1)

    def forward(self, x):
        s = F.relu(self.fc1(F.adaptive_avg_pool2d(x, 1)))
        return F.hardsigmoid(self.fc2(s)) * x


class InvertedResidual(nn.Module):
    def __init__(self, inputs, kernel, expanded, outputs, squeeze, act, stride):
        super().__init__()
        self.adds = stride == 1 and inputs == outputs
        layers = [conv_norm(inputs, expanded, 1, act=act)] if expanded != inputs else []
        layers.append(conv_norm(expanded, expanded, kernel, stride, expanded, act))
        if squeeze:
            layers.append(SqueezeExcitation(expanded))
        layers.append(conv_norm(expanded, outputs, 1))
        self.block = nn.Sequential(*layers)

    def forward(self, x):
        return self.block(x) + x if self.adds else self.block(x)


class MobileNetV3Large(nn.Module):
    draw = ResNet.draw

    def __init__(self, channels=3, side=224, width=1.0, classes=1000, dropout=0.2):
        super().__init__()
        inputs = make_divisible(16 * width)
        layers = [conv_norm(channels, inputs, 3, 2, act=nn.Hardswish)]
        for kernel, expanded, outputs, squeeze, act, stride in LARGE:
            expanded, outputs = make_divisible(expanded * width), make_divisible(outputs * width)
            layers.append(InvertedResidual(inputs, kernel, expanded, outputs, squeeze, act, stride))
            inputs = outputs
        layers.append(conv_norm(inputs, 6 * inputs, 1, act=nn.Hardswish))
        self.features = nn.Sequential(*layers)
        hidden = make_divisible(1280 * width)
        self.classifier = nn.Sequential(
            nn.Linear(6 * inputs, hidden), nn.Hardswish(), nn.Dropout(dropout),
            nn.Linear(hidden, classes),
        )  # fmt: skip
        self.reset()

    def reset(self):
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out")
                if module.bias is not None:
                    nn.init.zeros_(module.bias)
            elif isinstance(module, nn.Linear):
                nn.init.normal_(module.weight, 0, 0.01)
                nn.init.zeros_(module.bias)

    def forward(self, x, y):
        x = F.adaptive_avg_pool2d(self.features(x), 1).flatten(1)
        return F.cross_entropy(self.classifier(x), y)
