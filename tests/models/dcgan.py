"""Twins of `dcgan_generator` and `dcgan_discriminator`: PyTorch's example."""

import torch
from torch import nn
from torch.nn import functional as F


def weights_init(module):
    if isinstance(module, (nn.Conv2d, nn.ConvTranspose2d)):
        nn.init.normal_(module.weight, 0.0, 0.02)
    elif isinstance(module, nn.BatchNorm2d):
        nn.init.normal_(module.weight, 1.0, 0.02)
        nn.init.zeros_(module.bias)


class Generator(nn.Module):
    def __init__(self, channels=3, side=64, width=64, latent=100):
        super().__init__()
        layers, inputs, side = [], latent, side // 8
        while side:
            stride, padding = (2, 1) if layers else (1, 0)
            layers += [
                nn.ConvTranspose2d(inputs, width * side, 4, stride, padding, bias=False),
                nn.BatchNorm2d(width * side),
                nn.ReLU(True),
            ]
            inputs, side = width * side, side // 2
        layers += [nn.ConvTranspose2d(inputs, channels, 4, 2, 1, bias=False), nn.Tanh()]
        self.main = nn.Sequential(*layers)
        self.apply(weights_init)

    def forward(self, z, x):
        return F.binary_cross_entropy((self.main(z) + 1) * 0.5, x)

    @staticmethod
    def draw(generator, size, channels=3, side=64, latent=100, **_):
        z = torch.randn(size, latent, 1, 1, generator=generator, dtype=torch.float64)
        shape = (size, channels, side, side)
        return {"z": z, "x": torch.rand(shape, generator=generator, dtype=torch.float64)}


class Discriminator(nn.Module):
    def __init__(self, channels=3, side=64, width=64):
        super().__init__()
        layers = [nn.Conv2d(channels, width, 4, 2, 1, bias=False), nn.LeakyReLU(0.2, True)]
        side //= 2
        while side > 4:
            layers += [
                nn.Conv2d(width, 2 * width, 4, 2, 1, bias=False),
                nn.BatchNorm2d(2 * width),
                nn.LeakyReLU(0.2, True),
            ]
            width, side = 2 * width, side // 2
        layers += [nn.Conv2d(width, 1, 4, 1, 0, bias=False), nn.Sigmoid()]
        self.main = nn.Sequential(*layers)
        self.apply(weights_init)

    def forward(self, x, y):
        return F.binary_cross_entropy(self.main(x).view(-1), y)

    @staticmethod
    def draw(generator, size, channels=3, side=64, **_):
        shape = (size, channels, side, side)
        x = torch.randn(shape, generator=generator, dtype=torch.float64).clamp(-1, 1)
        y = torch.randint(2, (size,), generator=generator).double()
        return {"x": x, "y": y * 0.9 + 0.05}
