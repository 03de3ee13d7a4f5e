"""Plain torch.nn: images, volumes and signals."""

import torch
from torch import nn
from torch.nn import functional as F

from .case import table

CASES, case = table()


class ConvNet(nn.Module):
    """In-place activations, residual add_, momentum of two kinds."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 3, padding=1, bias=False)
        self.norm1 = nn.BatchNorm2d(8, momentum=0.3)
        self.norm2 = nn.BatchNorm2d(8, affine=False, track_running_stats=False)
        self.conv = nn.Conv2d(8, 8, 3, padding="same", groups=2)
        self.head = nn.Linear(8, 5)

    def forward(self, x, y):
        h = F.relu(self.norm1(self.stem(x)), inplace=True)
        skip = h
        h = self.norm2(self.conv(h))
        h += skip
        h = F.max_pool2d(F.hardswish(h), 2)
        return F.cross_entropy(self.head(h.amax(dim=(2, 3))), y, weight=torch.ones(5).to(h))


@case(quick=True, x="float[4,3,8,8]", y="i64[4]<5>")
def convnet_in_place():
    return ConvNet()


def block(inputs, outputs):
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, 3, padding=1), nn.GroupNorm(2, outputs), nn.SiLU(inplace=True)
    )


class UNet(nn.Module):
    """Transposed convolutions, skips, reflect padding, dice loss."""

    def __init__(self):
        super().__init__()
        self.down1, self.down2, self.middle = block(1, 4), block(4, 8), block(8, 8)
        self.up2 = nn.ConvTranspose2d(8, 8, 2, stride=2)
        self.join2 = block(16, 4)
        self.up1 = nn.ConvTranspose2d(4, 4, 3, stride=2, padding=1, output_padding=1)
        self.join1 = block(8, 4)
        self.head = nn.Conv2d(4, 1, 1)

    def forward(self, x, mask):
        a = self.down1(F.pad(x, (1, 1, 1, 1), mode="reflect"))[:, :, 1:-1, 1:-1]
        b = self.down2(F.avg_pool2d(a, 2))
        h = self.join2(torch.cat([self.up2(self.middle(F.max_pool2d(b, 2))), b], dim=1))
        logits = self.head(self.join1(torch.cat([self.up1(h), a], dim=1))).squeeze(1)
        truth = mask.to(logits.dtype)
        p = logits.sigmoid()
        dice = 1 - (2 * (p * truth).sum((1, 2)) + 1) / (p.sum((1, 2)) + truth.sum((1, 2)) + 1)
        return dice.mean() + F.binary_cross_entropy(p.clamp(1e-6, 1 - 1e-6), truth)


@case(quick=True, x="float[2,1,12,12]", mask="bool[2,12,12]")
def unet():
    return UNet()


class SuperResolution(nn.Module):
    """PixelShuffle, instance norm, bicubic and nearest upsampling, TV loss."""

    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(3, 8, 3, padding=1, padding_mode="circular"),
            nn.InstanceNorm2d(8, affine=True), nn.PReLU(), nn.Conv2d(8, 12, 3, padding=1),
            nn.PixelShuffle(2),
        )  # fmt: skip

    def forward(self, x, y):
        out = self.body(x) + F.interpolate(x, scale_factor=2, mode="bicubic", align_corners=False)
        rough = F.interpolate(out, scale_factor=0.5, mode="nearest")
        tv = (out[..., 1:] - out[..., :-1]).abs().mean() + out.diff(dim=-2).abs().mean()
        return F.l1_loss(out, y) + 0.1 * tv + 0.1 * (rough - x).square().mean().sqrt()


@case(x="float[2,3,6,6]", y="float[2,3,12,12]")
def super_resolution():
    return SuperResolution()


class Patches(nn.Module):
    """unfold and fold, roll and flip, meshgrid coordinates, grid_sample."""

    def __init__(self):
        super().__init__()
        self.embed = nn.Linear(12, 16)
        self.back = nn.Linear(16, 12)
        self.shift = nn.Parameter(torch.zeros(2, 3))

    def forward(self, x):
        patches = F.unfold(x, kernel_size=2, stride=2).transpose(1, 2)
        h = torch.roll(self.embed(patches), shifts=(1, -2), dims=(1, 2))
        h = h + h.flip(1).tanh()
        out = F.fold(self.back(h).transpose(1, 2), x.shape[-2:], kernel_size=2, stride=2)
        lines = torch.linspace(-1, 1, x.size(-1), dtype=x.dtype)
        rows, columns = torch.meshgrid(lines, lines, indexing="ij")
        grid = torch.stack([columns, rows, torch.ones_like(rows)], dim=-1) @ self.shift.T
        base = torch.stack([columns, rows], dim=-1) * 0.9
        moved = F.grid_sample(x, (base + grid).expand(x.size(0), -1, -1, -1), align_corners=False)
        return F.mse_loss(out, moved.detach()) + (moved - x).square().mean()


@case(x="float[2,3,8,8]")
def patches_and_grid():
    return Patches()


class Volume(nn.Module):
    """3-D convolution, pooling and trilinear upsampling."""

    def __init__(self):
        super().__init__()
        self.first = nn.Conv3d(1, 4, 3, padding=1)
        self.norm = nn.BatchNorm3d(4)
        self.up = nn.ConvTranspose3d(4, 2, 2, stride=2)

    def forward(self, x, y):
        h = F.max_pool3d(F.leaky_relu_(self.norm(self.first(x)), 0.1), 2)
        h = self.up(h) + F.interpolate(h, scale_factor=2, mode="trilinear")[:, :2]
        return F.cross_entropy(h, y)


@case(x="float[2,1,6,6,6]", y="i64[2,6,6,6]<2>")
def volume_net():
    return Volume()


class Gan(nn.Module):
    """Both losses of one step: the fake is detached for the critic."""

    def __init__(self):
        super().__init__()
        self.make = nn.Sequential(
            nn.ConvTranspose2d(6, 8, 4, bias=False), nn.BatchNorm2d(8), nn.ReLU(True),
            nn.ConvTranspose2d(8, 1, 4, 2, 1, bias=False), nn.Tanh(),
        )  # fmt: skip
        self.judge = nn.Sequential(
            nn.Conv2d(1, 8, 4, 2, 1), nn.LeakyReLU(0.2, inplace=True), nn.Conv2d(8, 1, 4)
        )

    def forward(self, noise, real):
        fake = self.make(noise[:, :, None, None])
        good, bad = self.judge(real).flatten(), self.judge(fake.detach()).flatten()
        judge = F.relu(1 - good).mean() + F.relu(1 + bad).mean()
        return judge - self.judge(fake).mean()


@case(noise="float[4,6]", real="float[4,1,8,8]")
def gan_hinge():
    return Gan()


class Wave(nn.Module):
    """Dilated causal convolutions with gates, glu, weight-shared heads."""

    def __init__(self):
        super().__init__()
        self.inputs = nn.Conv1d(1, 6, 1)
        self.layers = nn.ModuleList([nn.Conv1d(6, 12, 2, dilation=2**k) for k in range(3)])
        self.mix = nn.ModuleList([nn.Conv1d(6, 6, 1) for _ in range(3)])
        self.out = nn.Conv1d(6, 1, 1)

    def forward(self, x):
        h, total = self.inputs(x.unsqueeze(1)), 0.0
        for k, (layer, mix) in enumerate(zip(self.layers, self.mix, strict=True)):
            gated = F.glu(layer(F.pad(h, (2**k, 0))), dim=1)
            h, total = h + mix(gated), total + gated
        out = self.out(F.avg_pool1d(F.mish(total), 3, stride=1, padding=1)).squeeze(1)
        return F.smooth_l1_loss(out[:, :-1], x[:, 1:]) + F.max_pool1d(h, 2).logsumexp(-1).mean()


@case(x="float[3,16]")
def wave_net():
    return Wave()
