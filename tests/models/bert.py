"""Twin of `bert`: transformers' BertForMaskedLM."""

import torch
from torch import nn
from torch.nn import functional as F


class Embeddings(nn.Module):
    def __init__(self, vocab, positions, token_types, width, dropout):
        super().__init__()
        self.word_embeddings = nn.Embedding(vocab, width, padding_idx=0)
        self.position_embeddings = nn.Embedding(positions, width)
        self.token_type_embeddings = nn.Embedding(token_types, width)
        self.LayerNorm = nn.LayerNorm(width, eps=1e-12)
        self.dropout = nn.Dropout(dropout)

    def forward(self, tokens, token_types):
        places = torch.arange(tokens.shape[1], device=tokens.device)
        x = self.word_embeddings(tokens) + self.token_type_embeddings(token_types)
        return self.dropout(self.LayerNorm(x + self.position_embeddings(places)))


class SelfAttention(nn.Module):
    def __init__(self, width, heads, dropout):
        super().__init__()
        self.heads, self.p = heads, dropout
        self.query = nn.Linear(width, width)
        self.key = nn.Linear(width, width)
        self.value = nn.Linear(width, width)

    def forward(self, x, mask):
        q, k, v = (
            layer(x).unflatten(2, (self.heads, -1)).transpose(1, 2)
            for layer in (self.query, self.key, self.value)
        )
        p = self.p if self.training else 0.0
        y = F.scaled_dot_product_attention(q, k, v, mask, dropout_p=p)
        return y.transpose(1, 2).flatten(2)


class Output(nn.Module):
    def __init__(self, inputs, width, dropout):
        super().__init__()
        self.dense = nn.Linear(inputs, width)
        self.LayerNorm = nn.LayerNorm(width, eps=1e-12)
        self.dropout = nn.Dropout(dropout)

    def forward(self, y, x):
        return self.LayerNorm(self.dropout(self.dense(y)) + x)


class Attention(nn.Module):
    def __init__(self, width, heads, dropout, attention_dropout):
        super().__init__()
        self.self = SelfAttention(width, heads, attention_dropout)
        self.output = Output(width, width, dropout)

    def forward(self, x, mask):
        return self.output(self.self(x, mask), x)


class Intermediate(nn.Module):
    def __init__(self, width, feed):
        super().__init__()
        self.dense = nn.Linear(width, feed)

    def forward(self, x):
        return F.gelu(self.dense(x))


class Layer(nn.Module):
    def __init__(self, width, heads, feed, dropout, attention_dropout):
        super().__init__()
        self.attention = Attention(width, heads, dropout, attention_dropout)
        self.intermediate = Intermediate(width, feed)
        self.output = Output(feed, width, dropout)

    def forward(self, x, mask):
        x = self.attention(x, mask)
        return self.output(self.intermediate(x), x)


class Encoder(nn.Module):
    def __init__(self, layers, *args):
        super().__init__()
        self.layer = nn.ModuleList(Layer(*args) for _ in range(layers))


class BertModel(nn.Module):
    def __init__(self, embeddings, encoder):
        super().__init__()
        self.embeddings, self.encoder = embeddings, encoder

    def forward(self, tokens, token_types, mask):
        x = self.embeddings(tokens, token_types)
        for layer in self.encoder.layer:
            x = layer(x, mask[:, None, None, :] != 0)
        return x


class Transform(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.dense = nn.Linear(width, width)
        self.LayerNorm = nn.LayerNorm(width, eps=1e-12)

    def forward(self, x):
        return self.LayerNorm(F.gelu(self.dense(x)))


class Predictions(nn.Module):
    def __init__(self, words):
        super().__init__()
        vocab, width = words.shape
        self.bias = nn.Parameter(torch.zeros(vocab))
        self.transform = Transform(width)
        self.decoder = nn.Linear(width, vocab)
        self.decoder.weight = words
        self.decoder.bias = self.bias

    def forward(self, x):
        return self.decoder(self.transform(x))


class Head(nn.Module):
    def __init__(self, words):
        super().__init__()
        self.predictions = Predictions(words)


class Bert(nn.Module):
    def __init__(
        self, length=512, positions=512, vocab=30522, token_types=2, width=768, heads=12,
        layers=12, feed=0, dropout=0.1, attention_dropout=0.1,
    ):  # fmt: skip
        super().__init__()
        self.bert = BertModel(
            Embeddings(vocab, positions, token_types, width, dropout),
            Encoder(layers, width, heads, feed or 4 * width, dropout, attention_dropout),
        )
        self.cls = Head(self.bert.embeddings.word_embeddings.weight)
        for module in self.modules():
            if isinstance(module, (nn.Linear, nn.Embedding)):
                nn.init.normal_(module.weight, std=0.02)
            if isinstance(module, nn.Linear):
                nn.init.zeros_(module.bias)

    def forward(self, tokens, token_types, mask, targets):
        x = self.cls.predictions(self.bert(tokens, token_types, mask))
        return F.cross_entropy(x.flatten(0, 1), targets.flatten())

    @staticmethod
    def draw(generator, size, length=512, vocab=30522, token_types=2, **_):
        """The last tokens of every other sequence are padding; 40 % are targets.

        One padding token is seen, so that its row's missing gradient shows.
        """
        shape = (size, length)
        tokens = torch.randint(1, vocab, shape, generator=generator)
        tokens[:, 1] = 0
        types = torch.randint(token_types, shape, generator=generator)
        mask = torch.ones(shape, dtype=torch.int64)
        mask[::2, length - length // 3 :] = 0
        targets = torch.randint(vocab, shape, generator=generator)
        seen = torch.rand(shape, generator=generator) < 0.4
        seen[:, 0] = True
        targets[~seen | (mask == 0)] = -100
        return {
            "tokens": tokens * mask, "token_types": types, "mask": mask, "targets": targets,
        }  # fmt: skip
