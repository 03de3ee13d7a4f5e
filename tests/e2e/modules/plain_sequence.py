"""Plain torch.nn: sequences, attention, graphs, index arithmetic."""

import math

import torch
from torch import nn
from torch.nn import functional as F

from .case import table

CASES, case = table()


class Tagger(nn.Module):
    """A bidirectional LSTM of two layers over embeddings, masked loss."""

    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(20, 8, padding_idx=0)
        self.rnn = nn.LSTM(8, 6, num_layers=2, bidirectional=True, batch_first=True)
        self.out = nn.Linear(12, 4)

    def forward(self, ids, tags):
        h, _ = self.rnn(self.embed(ids))
        loss = F.cross_entropy(self.out(h).transpose(1, 2), tags, reduction="none")
        mask = ids.ne(0).to(loss.dtype)
        return (loss * mask).sum() / mask.sum().clamp(min=1)


@case(quick=True, ids="i64[3,7]<20>", tags="i64[3,7]<4>")
def lstm_tagger():
    return Tagger()


class Translator(nn.Module):
    """A GRU encoder and a decoder cell in a loop, with dot attention."""

    def __init__(self):
        super().__init__()
        self.source, self.target = nn.Embedding(15, 8), nn.Embedding(12, 8)
        self.encoder = nn.GRU(8, 8, batch_first=True)
        self.cell = nn.GRUCell(16, 8)
        self.out = nn.Linear(16, 12)

    def forward(self, source, target):
        memory, last = self.encoder(self.source(source))
        state, context = last[0], memory.mean(1)
        losses = []
        for step in range(target.shape[1] - 1):
            x = torch.cat([self.target(target[:, step]), context], dim=-1)
            state = self.cell(x, state)
            weights = torch.einsum("btd,bd->bt", memory, state).softmax(-1)
            context = torch.bmm(weights.unsqueeze(1), memory).squeeze(1)
            logits = self.out(torch.cat((state, context), -1))
            losses.append(F.nll_loss(logits.log_softmax(-1), target[:, step + 1]))
        return torch.stack(losses).mean()


@case(quick=True, source="i64[3,5]<15>", target="i64[3,5]<12>")
def gru_translator():
    return Translator()


class VanillaRnn(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.RNN(5, 7, nonlinearity="tanh")
        self.cell = nn.LSTMCell(7, 6)
        self.out = nn.Linear(6, 1)

    def forward(self, x, y):
        h, _ = self.rnn(x)
        state = (h.new_zeros(h.size(1), 6), h.new_zeros(h.size(1), 6))
        for t in range(h.size(0)):
            state = self.cell(h[t], state)
        return F.smooth_l1_loss(self.out(state[0]).squeeze(-1), y)


@case(x="float[6,3,5]", y="float[3]")
def rnn_and_lstm_cell():
    return VanillaRnn()


class SinusoidEncoder(nn.Module):
    """nn.TransformerEncoder with a bool padding mask and a float mask."""

    def __init__(self, width=16, length=10):
        super().__init__()
        self.embed = nn.Embedding(30, width)
        place = torch.arange(length).unsqueeze(1)
        rate = torch.exp(torch.arange(0, width, 2) * (-math.log(10000.0) / width))
        table_ = torch.zeros(1, length, width)
        table_[0, :, 0::2] = torch.sin(place * rate)
        table_[0, :, 1::2] = torch.cos(place * rate)
        self.register_buffer("places", table_, persistent=False)
        layer = nn.TransformerEncoderLayer(
            width, 4, 24, dropout=0.0, activation="gelu", batch_first=True, norm_first=True
        )
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.out = nn.Linear(width, 30)

    def forward(self, ids):
        length = ids.size(1)
        x = self.embed(ids) * math.sqrt(16) + self.places[:, :length]
        mask = nn.Transformer.generate_square_subsequent_mask(length, dtype=x.dtype)
        h = self.encoder(x, mask=mask, is_causal=False)
        return F.cross_entropy(self.out(h[:, :-1]).reshape(-1, 30), ids[:, 1:].reshape(-1))


@case(quick=True, ids="i64[2,9]<30>")
def transformer_encoder():
    return SinusoidEncoder()


class EncoderDecoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Transformer(16, 2, 1, 1, 24, dropout=0.0, batch_first=True)
        self.out = nn.Linear(16, 3)

    def forward(self, source, target, padding, y):
        length = target.size(1)
        causal = torch.triu(torch.ones(length, length, dtype=torch.bool), diagonal=1)
        padding = torch.cat([torch.zeros_like(padding[:, :1]), padding[:, 1:]], dim=1)
        h = self.net(
            source, target, tgt_mask=causal, tgt_is_causal=True, src_key_padding_mask=padding
        )
        return F.cross_entropy(self.out(h.mean(dim=1)), y)


@case(source="float[3,6,16]", target="float[3,5,16]", padding="bool[3,6]", y="i64[3]<3>")
def transformer_with_padding():
    return EncoderDecoder()


class Shifted(nn.Module):
    """Token shift by writes through views, and an attention written out."""

    def __init__(self, width=12, heads=3):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.mix = nn.Parameter(torch.rand(width))
        self.out = nn.Linear(width, 5)
        self.register_buffer("causal", torch.ones(8, 8).tril().view(1, 1, 8, 8).bool())

    def forward(self, x, y):
        b, t, c = x.shape
        shifted = torch.zeros_like(x)
        shifted[:, 1:] = x[:, :-1]
        x = x * self.mix + shifted * (1 - self.mix)
        q, k, v = (
            part.view(b, t, self.heads, -1).transpose(1, 2) for part in self.qkv(x).split(c, dim=2)
        )
        scores = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
        scores = scores.masked_fill(~self.causal[:, :, :t, :t], float("-inf"))
        h = (scores.softmax(-1) @ v).transpose(1, 2).contiguous().view(b, t, c)
        h[:, 0] += 1.0
        h[..., ::2] *= 0.5
        return F.cross_entropy(self.out(h)[:, -1], y)


@case(quick=True, x="float[2,6,12]", y="i64[2]<5>")
def token_shift():
    return Shifted()


class GraphNet(nn.Module):
    """Messages along edges: index, scatter_add, index_add, degree, max."""

    def __init__(self):
        super().__init__()
        self.message = nn.Sequential(nn.Linear(12, 10), nn.ReLU())
        self.attend = nn.Linear(10, 1, bias=False)
        self.update = nn.GRUCell(10, 6)
        self.out = nn.Linear(6, 3)

    def forward(self, x, source, target, y):
        nodes = x.size(0)
        for _ in range(2):
            sent = self.message(torch.cat([x[source], x[target]], dim=1))
            weight = F.leaky_relu(self.attend(sent), 0.2).exp()
            total = torch.zeros(nodes, 1, dtype=x.dtype).index_add_(0, target, weight)
            sent = sent * weight / (total.index_select(0, target) + 1e-6)
            places = target.unsqueeze(1).expand_as(sent)
            summed = torch.zeros(nodes, 10, dtype=x.dtype).scatter_add_(0, places, sent)
            x = self.update(summed, x)
        degree = torch.zeros(nodes, dtype=x.dtype).scatter_add(
            0, target, torch.ones_like(target, dtype=x.dtype)
        )
        return F.cross_entropy(self.out(x / degree.clamp(min=1).sqrt().unsqueeze(-1)), y)


@case(quick=True, x="float[7,6]", source="i64[15]<7>", target="i64[15]<7>", y="i64[7]<3>")
def graph_scatter():
    return GraphNet()


class Sorter(nn.Module):
    """topk pooling, sort, cumsum, gather, take_along_dim, index_put_."""

    def __init__(self):
        super().__init__()
        self.score = nn.Linear(8, 1)
        self.out = nn.Linear(8, 4)
        self.memory = nn.Parameter(torch.randn(10, 8) * 0.3)

    def forward(self, x, slots, y):
        scores = self.score(x).squeeze(-1)
        best, where = scores.topk(4, dim=1, sorted=True)
        pooled = x.gather(1, where.unsqueeze(-1).expand(-1, -1, x.size(-1)))
        pooled = pooled * best.sigmoid().unsqueeze(-1)
        memory = self.memory.clone()
        memory[slots] = pooled.mean(1) + memory[slots]
        ordered, order = torch.sort(pooled.sum(-1), dim=1, descending=True)
        survival = ordered.sub(ordered.max(1, keepdim=True).values).exp().flip(1)
        survival = survival.cumsum(1).flip(1).log()
        rank = (survival - torch.take_along_dim(best, order, dim=1)).mean()
        return F.cross_entropy(self.out(memory[slots]), y) + 0.1 * rank


@case(quick=True, x="float[3,9,8]", slots="i64[3]<10>", y="i64[3]<4>")
def topk_and_sort():
    return Sorter()


class Einsums(nn.Module):
    """Relative positions, einsum with '...', grouped queries, RMS norm."""

    def __init__(self, width=12, heads=2):
        super().__init__()
        self.q = nn.Parameter(torch.randn(width, heads, 6) * 0.3)
        self.kv = nn.Parameter(torch.randn(2, width, 1, 6) * 0.3)
        self.bias = nn.Parameter(torch.zeros(heads, 9))
        self.norm = nn.RMSNorm(width)
        self.o = nn.Linear(width, width)
        index = torch.arange(5)[:, None] - torch.arange(5)[None, :] + 4
        self.register_buffer("index", index)

    def forward(self, x):
        h = self.norm(x)
        q = torch.einsum("... t c, c h d -> ... h t d", h, self.q)
        k, v = torch.einsum("...tc,ncgd->n...gtd", h, self.kv).unbind(0)
        k, v = (a.repeat_interleave(2, dim=1) for a in (k, v))
        attended = F.scaled_dot_product_attention(q, k, v, attn_mask=self.bias[:, self.index])
        merged = attended.permute(0, 2, 1, 3).flatten(2)
        return torch.logsumexp(x + self.o(merged), dim=-1).mean() + torch.var(merged, dim=1).mean()


@case(x="float[3,5,12]")
def einsum_attention():
    return Einsums()


class Mask(nn.Module):
    """nn.MultiheadAttention with a float mask, a key padding mask, weights."""

    def __init__(self):
        super().__init__()
        self.attend = nn.MultiheadAttention(12, 3, dropout=0.0, kdim=8, vdim=8, batch_first=True)
        self.pool = nn.Parameter(torch.zeros(1, 1, 12))
        self.own = nn.MultiheadAttention(12, 2, batch_first=True, add_bias_kv=True)

    def forward(self, x, memory, bias):
        mixed, weights = self.attend(x, memory, memory, attn_mask=bias)
        query = self.pool.expand(x.size(0), -1, -1)
        pooled, _ = self.own(query, mixed, mixed, need_weights=False)
        entropy = -(weights * (weights + 1e-9).log()).sum(-1).mean()
        return pooled.square().mean() + 0.1 * entropy + (mixed - x).abs().mean()


@case(x="float[2,4,12]", memory="float[2,6,8]", bias="float[4,6]")
def multihead_masks():
    return Mask()


class Fourier(nn.Module):
    """A spectral layer: rfft, complex weights, irfft."""

    def __init__(self, channels=4, modes=5):
        super().__init__()
        self.modes = modes
        self.lift = nn.Conv1d(2, channels, 1)
        self.weight = nn.Parameter(torch.randn(channels, channels, modes, 2) * 0.3)
        self.skip = nn.Conv1d(channels, channels, 1)
        self.out = nn.Conv1d(channels, 1, 1)

    def forward(self, x, y):
        h = self.lift(x)
        spectrum = torch.fft.rfft(h, dim=-1)[..., : self.modes]
        weight = torch.view_as_complex(self.weight)
        spectrum = torch.einsum("bim,iom->bom", spectrum, weight)
        h = F.gelu(torch.fft.irfft(spectrum, n=x.size(-1), dim=-1) + self.skip(h))
        return F.mse_loss(self.out(h).squeeze(1), y)


@case(x="float[3,2,16]", y="float[3,16]")
def fourier_layer():
    return Fourier()
