"""Modules that drop something, for test_dropout.py; no part of the corpus."""

import torch
from torch import nn
from torch.nn import functional as F

from . import libraries
from .case import table

CASES, case = table()


class Shared(nn.Module):
    """One layer called twice, in place and not, and two rates in one path."""

    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(7, 24), nn.Linear(24, 24)
        self.norm, self.head = nn.BatchNorm1d(24), nn.Linear(24, 4)
        self.drop, self.last = nn.Dropout(0.1), nn.Dropout(0.5, inplace=True)

    def forward(self, x, y):
        h = self.drop(torch.relu(self.a(x)))
        h = self.norm(h + self.drop(torch.relu(self.b(h))))
        h = F.dropout(h, 0.2, self.training) + F.dropout(h, 0.3, self.training)
        return F.cross_entropy(self.last(self.head(h)).tanh(), y)


@case(quick=True, x="float[9,7]", y="i64[9]<4>")
def shared_layers():
    return Shared()


class Attending(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(11, 16)
        self.weighed = nn.MultiheadAttention(16, 4, dropout=0.25, batch_first=True)
        self.layer = nn.TransformerEncoderLayer(16, 2, 24, dropout=0.1, batch_first=True)
        self.head = nn.Linear(16, 11)

    def forward(self, x):
        h = self.embed(x)
        h = h + self.weighed(h, h, h)[0]
        q = h.view(*x.shape, 2, 8).transpose(1, 2)
        p = 0.3 if self.training else 0.0
        a = F.scaled_dot_product_attention(q, q, q, is_causal=True, dropout_p=p)
        h = self.layer(h + a.transpose(1, 2).flatten(2))
        return F.cross_entropy(self.head(h).flatten(0, 1), x.flatten())


@case(quick=True, x="i64[3,5]<11>")
def attention_weights():
    return Attending()


class Features(nn.Module):
    """Whole channels, and noise that keeps the statistics of SELU."""

    def __init__(self):
        super().__init__()
        self.conv, self.head = nn.Conv2d(3, 12, 3), nn.Linear(12, 4)
        self.channels, self.alpha = nn.Dropout2d(0.3), nn.AlphaDropout(0.2)
        self.both = nn.FeatureAlphaDropout(0.4)

    def forward(self, x, y):
        h = self.alpha(F.selu(self.channels(self.conv(x))))
        return F.cross_entropy(self.head(self.both(h).mean((2, 3))), y)


@case(quick=True, x="float[5,3,8,8]", y="i64[5]<4>")
def feature_maps():
    return Features()


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(6, 8, 3, dropout=0.3, bidirectional=True, batch_first=True)
        self.gru = nn.GRU(16, 8, 2, dropout=0.5)
        self.head = nn.Linear(8, 3)

    def forward(self, x, y):
        h, _ = self.lstm(x)
        h, _ = self.gru(h.transpose(0, 1))
        return F.cross_entropy(self.head(h[-1]), y)


@case(quick=True, x="float[4,5,6]", y="i64[4]<3>")
def recurrent_stack():
    return Recurrent()


class Deep(nn.Module):
    """Stochastic depth as timm and torchvision write it."""

    def __init__(self):
        super().__init__()
        libraries.timm()
        from timm.layers import DropPath
        from torchvision.ops import StochasticDepth

        self.layers = nn.ModuleList(nn.Linear(10, 10) for _ in range(4))
        drops = [DropPath(0.2), DropPath(0.3), StochasticDepth(0.4, "row")]
        self.drops = nn.ModuleList([*drops, StochasticDepth(0.25, "batch")])
        self.head = nn.Linear(10, 4)

    def forward(self, x, y):
        for layer, drop in zip(self.layers, self.drops, strict=True):
            x = x + drop(layer(x).tanh())
        return F.cross_entropy(self.head(x), y)


@case(quick=True, x="float[8,10]", y="i64[8]<4>")
def stochastic_depth():
    return Deep()


class Labelled(nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, ids):
        return self.model(input_ids=ids, labels=ids).loss


@case(quick=True, ids="i64[2,9]<31>")
def gpt2_as_configured():
    transformers = libraries.transformers()
    sizes = dict(vocab_size=31, n_positions=16, n_embd=16, n_layer=2, n_head=2)
    return Labelled(transformers.GPT2LMHeadModel(transformers.GPT2Config(**sizes)))


@case(ids="i64[2,9]<31>")
def bert_as_configured():
    transformers = libraries.transformers()
    sizes = dict(
        vocab_size=31, hidden_size=16, num_hidden_layers=2, num_attention_heads=2,
        intermediate_size=24, max_position_embeddings=16, attn_implementation="eager",
    )  # fmt: skip
    return Labelled(transformers.BertForMaskedLM(transformers.BertConfig(**sizes)))
