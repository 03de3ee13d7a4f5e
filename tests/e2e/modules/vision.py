"""Image models of timm and torchvision, small."""

import torch
from torch import nn
from torch.nn import functional as F

from . import libraries
from .case import table

CASES, case = table()
IMAGE = "float[2,3,32,32]"
LABEL = "i64[2]<5>"
# Batch norm on maps of one pixel needs more than two images to mean anything:
# with two the normalised values are 1 and -1, and gradients are rounding.
IMAGES = "float[8,3,32,32]"
LARGE_IMAGES = "float[8,3,64,64]"
LABELS = "i64[8]<5>"


class Classifier(nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, x, y):
        return F.cross_entropy(self.model(x), y)


def of_timm(name, **values):
    timm = libraries.timm()
    return Classifier(timm.create_model(name, pretrained=False, num_classes=5, **values))


def of_torchvision(name, **values):
    return Classifier(getattr(libraries.torchvision().models, name)(num_classes=5, **values))


@case(quick=True, x=IMAGE, y=LABEL, lr=0.1)
def timm_resnet():
    libraries.timm()
    from timm.models.resnet import BasicBlock, ResNet

    sizes = dict(channels=(8, 12, 16, 24), stem_width=8)
    return Classifier(ResNet(BasicBlock, [1, 1, 1, 1], num_classes=5, **sizes))


@case(x=LARGE_IMAGES, y=LABELS, lr=0.1)
def timm_efficientnet():
    return of_timm("test_efficientnet")


@case(x=IMAGES, y=LABELS)
def timm_mobilenetv3():
    return of_timm("mobilenetv3_small_050")


@case(quick=True, x=IMAGE, y=LABEL)
def timm_convnext():
    return of_timm("test_convnext2")


@case(x=IMAGE, y=LABEL)
def timm_vit():
    return of_timm("test_vit", img_size=32)


@case(x=IMAGE, y=LABEL)
def timm_swin():
    return of_timm(
        "swin_tiny_patch4_window7_224", img_size=32, patch_size=2, window_size=4, embed_dim=16,
        depths=(2, 2), num_heads=(2, 4), drop_path_rate=0.0,
    )  # fmt: skip


@case(x=IMAGE, y=LABEL)
def timm_mixer():
    libraries.timm()
    from timm.models.mlp_mixer import MlpMixer

    return Classifier(
        MlpMixer(num_classes=5, img_size=32, patch_size=8, num_blocks=2, embed_dim=24)
    )


@case(x=IMAGE, y=LABEL)
def timm_regnet():
    libraries.timm()
    from timm.models.regnet import RegNet, RegNetCfg

    sizes = RegNetCfg(depth=8, w0=8, wa=8.0, wm=2.0, group_size=8, se_ratio=0.25, stem_width=8)
    return Classifier(RegNet(sizes, num_classes=5))


@case(quick=True, x=IMAGE, y=LABEL)
def timm_nfnet():
    return of_timm("test_nfnet", drop_path_rate=0.0)


@case(x=IMAGE, y=LABEL)
def timm_densenet():
    return of_timm("densenet121", growth_rate=4, block_config=(2, 2, 2), bn_size=2)


@case(x=IMAGE, y=LABEL)
def timm_maxvit():
    libraries.timm()
    from timm.models.maxxvit import MaxxVit, MaxxVitCfg, MaxxVitTransformerCfg

    attention = MaxxVitTransformerCfg(dim_head=8, window_size=(4, 4), grid_size=(4, 4))
    sizes = MaxxVitCfg(
        embed_dim=(16, 24), depths=(1, 1), block_type=("M", "M"), stem_width=8,
        transformer_cfg=attention,
    )  # fmt: skip
    return Classifier(MaxxVit(sizes, img_size=32, num_classes=5))


@case(x=IMAGE, y=LABEL)
def timm_poolformer():
    libraries.timm()
    from timm.models.metaformer import MetaFormer

    return Classifier(MetaFormer(num_classes=5, depths=(1, 1, 2, 1), dims=(8, 12, 16, 24)))


@case(x=IMAGE, y=LABEL)
def timm_coat():
    return of_timm(
        "coat_tiny", img_size=32, embed_dims=[16, 16, 16, 16], serial_depths=[1, 1, 1, 1],
        mlp_ratios=[2, 2, 2, 2],
    )  # fmt: skip


@case(x=IMAGE, y=LABEL)
def timm_byobnet():
    return of_timm("test_byobnet")


class AllBranches(nn.Module):
    """A head of one's own on the branches of HRNet, brought to one size."""

    def __init__(self, model, channels):
        super().__init__()
        self.model, self.head = model, nn.Linear(channels, 5)

    def forward(self, x, y):
        net = self.model
        x = net.act1(net.bn1(net.conv1(x)))
        x = net.act2(net.bn2(net.conv2(x)))
        first, *rest = net.stages(x)
        rest = [F.interpolate(r, size=first.shape[2:], mode="nearest") for r in rest]
        pooled = torch.cat([first, *rest], 1).mean((2, 3))
        return F.cross_entropy(self.head(pooled), y)


@case(x=IMAGES, y=LABELS, lr=0.1)
def timm_hrnet():
    libraries.timm()
    from timm.models.hrnet import HighResolutionNet

    def stage(branches, kind="BASIC"):
        channels = tuple(8 * 2**k for k in range(branches))
        return dict(
            num_modules=1, num_branches=branches, block_type=kind, fuse_method="SUM",
            num_blocks=(1,) * branches, num_channels=channels,
        )  # fmt: skip

    sizes = {f"stage{k}": stage(k) for k in (2, 3, 4)}
    sizes |= {"stem_width": 8, "stage1": stage(1, "BOTTLENECK")}
    net = HighResolutionNet(sizes, num_classes=5, head="features")
    return AllBranches(net, 8 + 16 + 32 + 64)


@case(x=IMAGE, y=LABEL)
def timm_edgenext():
    return of_timm(
        "edgenext_xx_small", dims=(16, 24, 32, 40), depths=(1, 1, 1, 1), heads=(4, 4, 4, 4)
    )


# All of its sixteen blocks make of a rounding error one of 2 % of a gradient.
@case(x=LARGE_IMAGES, y=LABELS, lr=0.1)
def torchvision_shufflenet():
    net = libraries.torchvision().models.ShuffleNetV2
    return Classifier(net([2, 2, 1], [8, 16, 24, 32, 48], num_classes=5))


@case(x=IMAGE, y=LABEL)
def torchvision_squeezenet():
    return of_torchvision("squeezenet1_1", dropout=0.0)


# As above: the whole of it begins with a loss of 20 and ends anywhere.
@case(x=LARGE_IMAGES, y=LABELS, lr=0.1)
def torchvision_mnasnet():
    libraries.torchvision()
    from torchvision.models.mnasnet import _stack

    stem = [nn.Conv2d(3, 8, 3, stride=2, padding=1, bias=False), nn.BatchNorm2d(8, momentum=3e-4)]
    stacks = [_stack(8, 12, 3, 2, 3, 2, 3e-4), _stack(12, 16, 5, 2, 3, 2, 3e-4)]
    head = [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 5)]
    return Classifier(nn.Sequential(*stem, nn.ReLU(inplace=True), *stacks, *head))


class Inceptions(nn.Module):
    """Inception blocks with a second head, as GoogLeNet has them."""

    def __init__(self):
        super().__init__()
        libraries.torchvision()
        from torchvision.models.googlenet import BasicConv2d, Inception

        self.stem = BasicConv2d(3, 8, kernel_size=3, stride=2, padding=1)
        self.a = Inception(8, 4, 4, 8, 2, 4, 4)
        self.b = Inception(20, 8, 6, 12, 2, 4, 4)
        self.second = nn.Linear(20, 5)
        self.head = nn.Linear(28, 5)

    def forward(self, x, y):
        h = self.a(F.max_pool2d(self.stem(x), 3, stride=2, ceil_mode=True))
        second = self.second(F.adaptive_avg_pool2d(h, 1).flatten(1))
        h = F.avg_pool2d(self.b(h), 3, stride=2, ceil_mode=True, count_include_pad=False)
        loss = F.cross_entropy(self.head(h.mean((2, 3))), y)
        return loss + 0.3 * F.cross_entropy(second, y)


@case(x=IMAGE, y=LABEL)
def torchvision_inception():
    return Inceptions()


class Segmenter(nn.Module):
    def __init__(self):
        super().__init__()
        libraries.torchvision()
        from torchvision.models.segmentation.deeplabv3 import ASPP

        self.stem = nn.Sequential(
            nn.Conv2d(3, 12, 3, stride=2, padding=1, bias=False),
            nn.BatchNorm2d(12, momentum=0.01), nn.Hardswish(inplace=True),
        )  # fmt: skip
        self.aspp = ASPP(12, [2, 4], out_channels=16)
        self.aspp.project[3].p = 0.0
        self.head = nn.Conv2d(16, 4, 1)

    def forward(self, x, y):
        scores = self.head(self.aspp(self.stem(x)))
        scores = F.interpolate(scores, size=x.shape[-2:], mode="bilinear", align_corners=False)
        return F.cross_entropy(scores, y, ignore_index=3)


@case(quick=True, x=IMAGE, y="i64[2,32,32]<4>")
def torchvision_deeplab():
    return Segmenter()
