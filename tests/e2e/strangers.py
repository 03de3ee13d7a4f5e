"""Modules that make something of the batch's shape: masks, states, labels, and
results in dicts. Each has a batch of N rows; none needs N to be anything.

N batch, T time, D width, C classes.
"""

from dataclasses import dataclass, field

import torch
from modules import libraries
from torch import nn
from torch.nn import functional as F

T, D, C, WORDS = 7, 8, 5, 23


def floats(n, *shape):
    return torch.randn(n, *shape)


def labels(n, bound=C):
    return torch.randint(bound, (n,))


class DropPlanes(nn.Module):
    """Dropout of whole planes, and a mask as large as the features."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(2, D, 3, padding=1)
        self.drop = nn.Dropout2d(0.2)
        self.head = nn.Linear(D, C)

    def forward(self, x, y):
        f = F.relu(self.conv(x))
        keep = self.drop(torch.ones_like(f)) * (f > 0)
        return F.cross_entropy(self.head((f * keep).mean((2, 3))), y)


class PaddedEncoder(nn.Module):
    """Attention that leaves out the words numbered 0."""

    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(WORDS, D, padding_idx=0)
        layer = nn.TransformerEncoderLayer(D, 2, 16, dropout=0.1, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2)
        self.head = nn.Linear(D, C)

    def forward(self, ids, y):
        gone = ids == 0
        h = self.encoder(self.words(ids), src_key_padding_mask=gone)
        kept = (~gone).unsqueeze(-1).to(h.dtype)
        return F.cross_entropy(self.head((h * kept).sum(1) / kept.sum(1)), y)


class TwoWayLSTM(nn.Module):
    """First states that nn.LSTM makes by itself."""

    def __init__(self):
        super().__init__()
        self.rnn = nn.LSTM(3, D, num_layers=2, batch_first=True, bidirectional=True, dropout=0.1)
        self.head = nn.Linear(2 * D, 1)

    def forward(self, x, y):
        return F.mse_loss(self.head(self.rnn(x)[0][:, -1]).squeeze(-1), y)


class CellLoop(nn.Module):
    """A state of zeros, made by hand, and a loop over time."""

    def __init__(self):
        super().__init__()
        self.cell = nn.GRUCell(3, D)
        self.head = nn.Linear(D, C)

    def forward(self, x, y):
        h = x.new_zeros(x.shape[0], D)
        best = torch.full((x.shape[0], D), -10.0)
        for t in range(x.shape[1]):
            h = self.cell(x[:, t], h)
            best = torch.maximum(best, h)
        return F.cross_entropy(self.head(best), y)


class BagOfWords(nn.Module):
    """Counts words with scatter_add into zeros of [N, WORDS]."""

    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(WORDS, D), nn.Tanh(), nn.Linear(D, C))

    def forward(self, ids, y):
        counts = torch.zeros(ids.shape[0], WORDS)
        counts = counts.scatter_add(1, ids, torch.ones(ids.shape, dtype=torch.float32))
        return F.cross_entropy(self.body(counts.log1p()), y)


class FirstToken(nn.Module):
    """A learned token before every row, and positions."""

    def __init__(self):
        super().__init__()
        self.token = nn.Parameter(torch.randn(1, 1, D) * 0.02)
        self.place = nn.Parameter(torch.randn(1, T + 1, D) * 0.02)
        self.body = nn.Linear(3, D)
        self.attention = nn.MultiheadAttention(D, 2, batch_first=True)
        self.head = nn.Linear(D, C)

    def forward(self, x, y):
        n = x.shape[0]
        h = torch.cat([self.token.expand(n, -1, -1), self.body(x)], 1) + self.place
        causal = torch.triu(torch.ones(T + 1, T + 1, dtype=torch.bool), 1)
        h = self.attention(h, h, h, attn_mask=causal, need_weights=False)[0]
        return F.cross_entropy(self.head(h[:, -1]), y)


class Contrast(nn.Module):
    """Rows against each other: the label of a row is its number."""

    def __init__(self):
        super().__init__()
        self.left, self.right = nn.Linear(6, D), nn.Linear(4, D)

    def forward(self, a, b):
        scores = F.normalize(self.left(a), dim=1) @ F.normalize(self.right(b), dim=1).T
        number = torch.arange(a.shape[0])
        return (F.cross_entropy(5 * scores, number) + F.cross_entropy(5 * scores.T, number)) / 2


class DictInDictOut(nn.Module):
    """One argument with two tensors; a loss among other results."""

    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(6, D), nn.BatchNorm1d(D), nn.ReLU(), nn.Linear(D, C))

    def forward(self, batch):
        scores = self.net(batch["x"])
        chosen = F.one_hot(batch["y"], C).to(scores.dtype)
        away = torch.zeros_like(scores).masked_fill(chosen == 0, 0.1)
        loss = -((chosen + away) * F.log_softmax(scores, 1)).sum(1).mean()
        return {"scores": scores, "loss": loss, "sure": scores.softmax(1).amax(1).mean()}


class WrittenRows(nn.Module):
    """Writes by index into a full tensor, [N, T]."""

    def __init__(self):
        super().__init__()
        self.score = nn.Linear(3, 1)
        self.mix = nn.Linear(T, C)

    def forward(self, x, at, y):
        rows = torch.full((x.shape[0], T), -1.0)
        picked = self.score(x).squeeze(-1)  # [N, T]
        rows[torch.arange(x.shape[0]), at] = picked[torch.arange(x.shape[0]), at]
        return F.cross_entropy(self.mix(rows + 0.1 * picked), y)


class OddPlanes(nn.Module):
    """A border of zeros joined to planes of an odd size, and halves put back."""

    def __init__(self):
        super().__init__()
        self.down = nn.Conv2d(1, D, 3, stride=2)
        self.norm = nn.GroupNorm(2, D)
        self.up = nn.ConvTranspose2d(D, 1, 2, stride=2)

    def forward(self, x, y):
        edge = torch.zeros(x.shape[0], 1, 1, x.shape[3])
        h = F.relu(self.norm(self.down(torch.cat([edge, x], 2))))
        h = F.interpolate(self.up(h), size=x.shape[2:], mode="bilinear", align_corners=False)
        weight = torch.where(y > 0, torch.full_like(y, 2.0), torch.ones_like(y))
        return (weight * (h - y).square()).mean()


class SoftPool(nn.Module):
    """Attention pooling where rows have lengths of their own."""

    def __init__(self):
        super().__init__()
        self.body = nn.Linear(3, D)
        self.weight = nn.Linear(D, 1)
        self.head = nn.Linear(D, 1)

    def forward(self, x, length, y):
        h = torch.tanh(self.body(x))
        place = torch.arange(T).expand(x.shape[0], T)
        score = self.weight(h).squeeze(-1)
        score = torch.where(place < length[:, None], score, torch.full_like(score, -1e9))
        pooled = torch.einsum("nt,ntd->nd", score.softmax(1), h)
        return F.binary_cross_entropy_with_logits(self.head(pooled).squeeze(1), y)


class SmallBert(nn.Module):
    """A model of transformers with its own masks and positions."""

    def __init__(self):
        super().__init__()
        transformers = libraries.transformers()
        config = transformers.BertConfig(
            vocab_size=WORDS, hidden_size=D, num_hidden_layers=1, num_attention_heads=2,
            intermediate_size=16, max_position_embeddings=16, num_labels=C,
        )  # fmt: skip
        self.bert = transformers.BertForSequenceClassification(config)

    def forward(self, input_ids, attention_mask, labels):
        out = self.bert(input_ids=input_ids, attention_mask=attention_mask, labels=labels)
        return {"loss": out.loss, "logits": out.logits}


class Mixtures(nn.Module):
    """Weights of parts made with eye, tril and cumulative sums, [N, K, K]."""

    def __init__(self, parts=4):
        super().__init__()
        self.parts = parts
        self.inputs = nn.Linear(6, parts * parts)
        self.head = nn.Linear(parts, C)

    def forward(self, x, y):
        n, k = x.shape[0], self.parts
        low = torch.tril(self.inputs(x).view(n, k, k)) + torch.eye(k).expand(n, k, k)
        ones = torch.ones(n, k, 1)
        row = torch.arange(n, dtype=x.dtype).unsqueeze(1)  # [N, 1]
        steps = torch.bmm(low, ones).squeeze(-1) + 0 * row.expand(n, k)
        return F.cross_entropy(self.head(steps.cumsum(1)), y)


@dataclass
class Stranger:
    """A module with a function that makes n rows of data for it."""

    module: type
    data: object
    arguments: dict = field(default_factory=dict)  # field of the data -> argument
    nested: str = ""  # all tensors are one argument, a dict

    def inputs(self, data):
        return {self.nested: dict(data)} if self.nested else dict(data)

    def loss(self, module, data):
        result = module(**self.inputs(data))
        return result["loss"] if isinstance(result, dict) else result


def words(n):
    ids = torch.randint(1, WORDS, (n, T))
    return torch.where(torch.arange(T) < torch.randint(2, T + 1, (n, 1)), ids, 0)


STRANGERS = {
    "drop_planes": Stranger(DropPlanes, lambda n: {"x": floats(n, 2, 5, 6), "y": labels(n)}),
    "padded_encoder": Stranger(PaddedEncoder, lambda n: {"ids": words(n), "y": labels(n)}),
    "two_way_lstm": Stranger(TwoWayLSTM, lambda n: {"x": floats(n, T, 3), "y": floats(n)}),
    "cell_loop": Stranger(CellLoop, lambda n: {"x": floats(n, T, 3), "y": labels(n)}),
    "bag_of_words": Stranger(BagOfWords, lambda n: {"ids": words(n), "y": labels(n)}),
    "first_token": Stranger(FirstToken, lambda n: {"x": floats(n, T, 3), "y": labels(n)}),
    "contrast": Stranger(Contrast, lambda n: {"a": floats(n, 6), "b": floats(n, 4)}),
    "dict_in_dict_out": Stranger(
        DictInDictOut, lambda n: {"x": floats(n, 6), "y": labels(n)},
        {"x": "batch_x", "y": "batch_y"}, "batch",
    ),
    "written_rows": Stranger(
        WrittenRows, lambda n: {"x": floats(n, T, 3), "at": labels(n, T), "y": labels(n)}
    ),
    "odd_planes": Stranger(
        OddPlanes, lambda n: {"x": floats(n, 1, 6, 7), "y": floats(n, 1, 6, 7)}
    ),
    "soft_pool": Stranger(
        SoftPool,
        lambda n: {
            "x": floats(n, T, 3), "length": 1 + labels(n, T), "y": labels(n, 2).float(),
        },
    ),
    "small_bert": Stranger(
        SmallBert,
        lambda n: {
            "input_ids": (ids := words(n)), "attention_mask": (ids > 0).long(),
            "labels": labels(n),
        },
    ),
    "mixtures": Stranger(Mixtures, lambda n: {"x": floats(n, 6), "y": labels(n)}),
}  # fmt: skip
