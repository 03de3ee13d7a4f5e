"""Twin of `transformer_lm`: a causal stack of torch.nn.TransformerEncoderLayer."""

import math

from torch import nn
from torch.nn import functional as F

from .transformer import Transformer


class TransformerLM(nn.Module):
    draw = Transformer.draw

    def __init__(
        self, length=512, positions=512, vocab=37000, width=512, heads=8, layers=6, feed=0,
        tied=1, dropout=0.1,
    ):  # fmt: skip
        super().__init__()
        self.embedding = nn.Embedding(vocab, width)
        self.positions = nn.Embedding(positions, width)
        for table in (self.embedding, self.positions):
            nn.init.normal_(table.weight, std=width**-0.5)
        self.dropout = nn.Dropout(dropout)
        self.layers = nn.ModuleList(
            nn.TransformerEncoderLayer(width, heads, feed or 4 * width, dropout, batch_first=True)
            for _ in range(layers)
        )
        self.head = nn.Linear(width, vocab, bias=False)
        if tied:
            self.head.weight = self.embedding.weight

    def forward(self, tokens, targets):
        length = tokens.shape[1]
        x = self.embedding(tokens) * math.sqrt(self.embedding.embedding_dim)
        x = self.dropout(x + self.positions.weight[:length])
        mask = nn.Transformer.generate_square_subsequent_mask(length, x.device, x.dtype)
        for layer in self.layers:
            x = layer(x, src_mask=mask, is_causal=True)
        return F.cross_entropy(self.head(x).flatten(0, 1), targets.flatten())
