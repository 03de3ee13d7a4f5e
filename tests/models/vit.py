"""Twin of `vit`: torchvision's VisionTransformer."""

import math

import torch
from torch import nn
from torch.nn import functional as F

from .resnet import ResNet


class EncoderBlock(nn.Module):
    def __init__(self, width, heads, feed, dropout, attention_dropout):
        super().__init__()
        self.ln_1 = nn.LayerNorm(width, eps=1e-6)
        self.self_attention = nn.MultiheadAttention(
            width, heads, dropout=attention_dropout, batch_first=True
        )
        self.dropout = nn.Dropout(dropout)
        self.ln_2 = nn.LayerNorm(width, eps=1e-6)
        self.mlp = nn.Sequential(
            nn.Linear(width, feed), nn.GELU(), nn.Dropout(dropout),
            nn.Linear(feed, width), nn.Dropout(dropout),
        )  # fmt: skip
        for module in (self.mlp[0], self.mlp[3]):
            nn.init.xavier_uniform_(module.weight)
            nn.init.normal_(module.bias, std=1e-6)

    def forward(self, x):
        y = self.ln_1(x)
        y, _ = self.self_attention(y, y, y, need_weights=False)
        x = x + self.dropout(y)
        return x + self.mlp(self.ln_2(x))


class Encoder(nn.Module):
    def __init__(self, length, width, heads, layers, feed, dropout, attention_dropout):
        super().__init__()
        self.pos_embedding = nn.Parameter(torch.empty(1, length, width).normal_(std=0.02))
        self.dropout = nn.Dropout(dropout)
        self.layers = nn.Sequential()
        for i in range(layers):
            block = EncoderBlock(width, heads, feed, dropout, attention_dropout)
            self.layers.add_module(f"encoder_layer_{i}", block)
        self.ln = nn.LayerNorm(width, eps=1e-6)

    def forward(self, x):
        return self.ln(self.layers(self.dropout(x + self.pos_embedding)))


class ViT(nn.Module):
    draw = ResNet.draw

    def __init__(
        self, channels=3, side=224, patch=16, width=768, heads=12, layers=12, feed=0,
        classes=1000, dropout=0.1, attention_dropout=0.0,
    ):  # fmt: skip
        super().__init__()
        self.conv_proj = nn.Conv2d(channels, width, patch, patch)
        nn.init.trunc_normal_(self.conv_proj.weight, std=math.sqrt(1 / (channels * patch**2)))
        nn.init.zeros_(self.conv_proj.bias)
        self.class_token = nn.Parameter(torch.zeros(1, 1, width))
        length = (side // patch) ** 2 + 1
        self.encoder = Encoder(
            length, width, heads, layers, feed or 4 * width, dropout, attention_dropout
        )
        self.heads = nn.Sequential()
        self.heads.add_module("head", nn.Linear(width, classes))
        nn.init.zeros_(self.heads.head.weight)
        nn.init.zeros_(self.heads.head.bias)

    def forward(self, x, y):
        x = self.conv_proj(x).flatten(2).transpose(1, 2)
        x = self.encoder(torch.cat([self.class_token.expand(len(x), -1, -1), x], 1))
        return F.cross_entropy(self.heads(x[:, 0]), y)
