"""Twin of `gpt2`: transformers' GPT2LMHeadModel."""

import math

import torch
from torch import nn
from torch.nn import functional as F

from .transformer import Transformer


class Conv1D(nn.Module):
    """A linear layer whose weight is [inputs, outputs]."""

    def __init__(self, outputs, inputs):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(inputs, outputs).normal_(std=0.02))
        self.bias = nn.Parameter(torch.zeros(outputs))

    def forward(self, x):
        y = torch.addmm(self.bias, x.view(-1, x.shape[-1]), self.weight)
        return y.view(*x.shape[:-1], -1)


class Attention(nn.Module):
    def __init__(self, width, heads, dropout, attention_dropout):
        super().__init__()
        self.heads, self.p = heads, attention_dropout
        self.c_attn = Conv1D(3 * width, width)
        self.c_proj = Conv1D(width, width)
        self.resid_dropout = nn.Dropout(dropout)

    def forward(self, x):
        q, k, v = (
            part.unflatten(2, (self.heads, -1)).transpose(1, 2)
            for part in self.c_attn(x).chunk(3, dim=2)
        )
        p = self.p if self.training else 0.0
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True, dropout_p=p)
        return self.resid_dropout(self.c_proj(y.transpose(1, 2).flatten(2)))


class MLP(nn.Module):
    def __init__(self, width, feed, dropout):
        super().__init__()
        self.c_fc = Conv1D(feed, width)
        self.c_proj = Conv1D(width, feed)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        return self.dropout(self.c_proj(F.gelu(self.c_fc(x), approximate="tanh")))


class Block(nn.Module):
    def __init__(self, width, heads, feed, dropout, attention_dropout):
        super().__init__()
        self.ln_1 = nn.LayerNorm(width)
        self.attn = Attention(width, heads, dropout, attention_dropout)
        self.ln_2 = nn.LayerNorm(width)
        self.mlp = MLP(width, feed, dropout)

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class GPT2(nn.Module):
    draw = Transformer.draw

    def __init__(
        self, length=1024, positions=1024, vocab=50257, width=768, heads=12, layers=12, feed=0,
        dropout=0.1, attention_dropout=0.1,
    ):  # fmt: skip
        super().__init__()
        args = (width, heads, feed or 4 * width, dropout, attention_dropout)
        self.transformer = nn.ModuleDict({
            "wte": nn.Embedding(vocab, width),
            "wpe": nn.Embedding(positions, width),
            "drop": nn.Dropout(dropout),
            "h": nn.ModuleList(Block(*args) for _ in range(layers)),
            "ln_f": nn.LayerNorm(width),
        })  # fmt: skip
        self.lm_head = nn.Linear(width, vocab, bias=False)
        self.lm_head.weight = self.transformer.wte.weight
        nn.init.normal_(self.transformer.wte.weight, std=0.02)
        nn.init.normal_(self.transformer.wpe.weight, std=0.02)
        for name, parameter in self.named_parameters():
            if name.endswith("c_proj.weight"):
                nn.init.normal_(parameter, std=0.02 / math.sqrt(2 * layers))

    def forward(self, tokens, targets):
        parts = self.transformer
        places = torch.arange(tokens.shape[1], device=tokens.device)
        x = parts.drop(parts.wte(tokens) + parts.wpe(places))
        for block in parts.h:
            x = block(x)
        x = self.lm_head(parts.ln_f(x))
        return F.cross_entropy(x.flatten(0, 1), targets.flatten())
