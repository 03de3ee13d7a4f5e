"""Plain torch.nn: dense networks, losses, odd ways with parameters."""

import torch
from torch import nn
from torch.nn import functional as F
from torch.nn.utils import parametrizations

from .case import table

CASES, case = table()


class Autoencoder(nn.Module):
    """The decoder uses the encoder's weight; a parameter is never used."""

    def __init__(self):
        super().__init__()
        self.encoder = nn.Linear(12, 6)
        self.decoder = nn.Linear(6, 12)
        self.decoder.weight = nn.Parameter(self.encoder.weight.detach().t().clone())
        self.tied = nn.Linear(6, 12, bias=False)
        self.skip = nn.Linear(12, 6)
        self.tied.weight = nn.Parameter(torch.randn(12, 6) * 0.1)
        self.out = nn.Linear(12, 12)
        self.out2 = nn.Linear(12, 12)
        self.out2.weight = self.out.weight
        self.unused = nn.Parameter(torch.zeros(3))

    def forward(self, x):
        h = F.relu_(self.encoder(x)) + self.skip(x)
        h = F.linear(h, self.encoder.weight.t()) + self.tied(h) + self.decoder(h)
        return F.mse_loss(self.out2(torch.tanh(self.out(h))), x)


@case(quick=True, x="float[6,12]")
def autoencoder_tied():
    return Autoencoder()


class MeanTeacher(nn.Module):
    """A frozen teacher under no_grad, a student with a straight-through step."""

    def __init__(self):
        super().__init__()
        self.teacher = nn.Sequential(nn.Linear(10, 16), nn.ReLU(), nn.Linear(16, 4))
        self.student = nn.Sequential(nn.Linear(10, 8), nn.SiLU(), nn.Linear(8, 4))
        for parameter in self.teacher.parameters():
            parameter.requires_grad_(False)

    def forward(self, x, y):
        with torch.no_grad():
            soft = F.softmax(self.teacher(x) / 2.0, dim=-1)
        logits = self.student(x)
        hard = F.one_hot(logits.argmax(-1), 4).to(logits.dtype)
        probabilities = logits.softmax(-1)
        through = hard + probabilities - probabilities.detach()
        distill = F.kl_div(F.log_softmax(logits / 2.0, -1), soft, reduction="batchmean")
        return F.cross_entropy(logits, y) + 4.0 * distill + 0.1 * (through * soft).sum(-1).mean()


@case(quick=True, x="float[6,10]", y="i64[6]<4>")
def distillation():
    return MeanTeacher()


class FrozenBackbone(nn.Module):
    """A detached backbone with batch norm, whose statistics still move."""

    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(
            nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(inplace=True),
            nn.AdaptiveAvgPool2d(2), nn.Flatten(),
        )  # fmt: skip
        self.head = nn.Linear(32, 4)

    def forward(self, x, y):
        return F.cross_entropy(self.head(self.backbone(x).detach()), y, label_smoothing=0.1)


@case(x="float[4,3,8,8]", y="i64[4]<4>")
def frozen_backbone():
    return FrozenBackbone()


class Siamese(nn.Module):
    """One encoder three times; triplet, cosine and contrastive losses."""

    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(9, 16), nn.LayerNorm(16), nn.ELU(), nn.Linear(16, 8))
        self.scale = nn.Parameter(torch.tensor(2.0))

    def forward(self, anchor, positive, negative):
        a, p, n = (F.normalize(self.encoder(t), dim=-1) for t in (anchor, positive, negative))
        triplet = F.triplet_margin_loss(a, p, n, margin=0.5)
        sign = torch.ones(a.shape[0], dtype=a.dtype)
        cosine = F.cosine_embedding_loss(a, p, sign)
        scores = self.scale.exp() * a @ p.T
        contrast = F.cross_entropy(scores, torch.arange(a.size(0)))
        return triplet + cosine + 0.1 * contrast - 0.1 * F.cosine_similarity(a, n).mean()


@case(quick=True, anchor="float[5,9]", positive="float[5,9]", negative="float[5,9]")
def siamese():
    return Siamese()


class Normed(nn.Module):
    """weight_norm and spectral_norm by parametrization."""

    def __init__(self, spectral):
        super().__init__()
        self.first = parametrizations.weight_norm(nn.Linear(8, 12))
        second = nn.Conv1d(3, 6, 3, padding=1)
        self.second = parametrizations.spectral_norm(second) if spectral else second
        if not spectral:
            self.second = parametrizations.weight_norm(second, dim=0)
        self.slope = nn.PReLU(6)

    def forward(self, x):
        h = F.leaky_relu(self.first(x), 0.2)
        h = self.slope(self.second(h))
        return F.softplus(-h).mean() + h.pow(2).mean()


@case(x="float[4,3,8]")
def weight_norm():
    return Normed(spectral=False)


@case(x="float[4,3,8]", eval_form=False)
def spectral_norm():
    return Normed(spectral=True)


class Vae(nn.Module):
    """The noise is an input, so that both sides have the same."""

    def __init__(self):
        super().__init__()
        self.encode = nn.Linear(12, 10)
        self.to_mean, self.to_log_var = nn.Linear(10, 4), nn.Linear(10, 4)
        self.decode = nn.Sequential(nn.Linear(4, 10), nn.Softplus(), nn.Linear(10, 12))

    def forward(self, x, noise):
        h = torch.tanh(self.encode(x))
        mean, log_var = self.to_mean(h), self.to_log_var(h).clamp(-4, 4)
        z = mean + (0.5 * log_var).exp() * noise
        target = x.sigmoid()
        rec = F.binary_cross_entropy_with_logits(self.decode(z), target, reduction="sum")
        kl = -0.5 * torch.sum(1 + log_var - mean.pow(2) - log_var.exp())
        return (rec + kl) / x.shape[0]


@case(quick=True, x="float[5,12]", noise="float[5,4]")
def vae():
    return Vae()


class Tabular(nn.Module):
    """Categories and numbers, bool and int32 arithmetic, a lifted constant."""

    def __init__(self):
        super().__init__()
        self.tables = nn.ModuleList([nn.Embedding(n, 4, padding_idx=0) for n in (5, 7, 3)])
        self.bags = nn.Embedding(11, 4)
        self.norm = nn.BatchNorm1d(6)
        self.mlp = nn.Sequential(nn.Linear(4 * 4 + 6, 16), nn.GELU(), nn.Linear(16, 1))
        self.offsets = torch.tensor([0, 2, 5], dtype=torch.int32)
        self.register_buffer("bins", torch.linspace(-2, 2, 10), persistent=False)

    def forward(self, codes, numbers, missing, y):
        parts = [t(codes[:, k].long()) for k, t in enumerate(self.tables)]
        numbers = numbers.masked_fill(missing, 0.0)
        bucket = torch.bucketize(numbers[:, 0].detach().contiguous(), self.bins)
        parts.append(self.bags(bucket))
        shifted = (codes + self.offsets) % 4
        count = (shifted > 1).sum(1, keepdim=True) * missing.logical_not().sum(1, keepdim=True)
        weight = 1.0 + 0.1 * count.to(numbers.dtype)
        h = self.mlp(torch.cat([*parts, self.norm(numbers)], dim=1))
        return (weight * F.huber_loss(h, y[:, None], reduction="none", delta=0.7)).mean()


@case(quick=True, codes="i32[8,3]<3>", numbers="float[8,6]", missing="bool[8,6]", y="float[8]")
def tabular():
    return Tabular()


class Experts(nn.Module):
    """Experts by bmm, the two best of them by topk, with a balance term."""

    def __init__(self, experts=4, width=8):
        super().__init__()
        self.gate = nn.Linear(width, experts, bias=False)
        self.up = nn.Parameter(torch.randn(experts, width, 12) * 0.2)
        self.down = nn.Parameter(torch.randn(experts, 12, width) * 0.2)

    def forward(self, x):
        tokens = x.reshape(-1, x.shape[-1])
        scores = self.gate(tokens).softmax(-1)
        best, chosen = scores.topk(2, dim=-1)
        best = best / best.sum(-1, keepdim=True)
        gates = torch.zeros_like(scores).scatter(1, chosen, best)
        h = torch.bmm(tokens.expand(4, -1, -1), self.up)
        out = torch.bmm(F.silu(h), self.down)
        mixed = torch.einsum("ne,end->nd", gates, out).view_as(x)
        share = gates.gt(0).to(x.dtype).mean(0)
        return (mixed - x).square().mean() + 0.01 * 4 * (share * scores.mean(0)).sum()


@case(x="float[3,4,8]")
def experts_bmm():
    return Experts()


class Mixed(nn.Module):
    """Parts in half and single precision inside whatever the model has."""

    def __init__(self):
        super().__init__()
        self.first = nn.Linear(8, 16)
        self.norm = nn.LayerNorm(16)
        self.last = nn.Linear(16, 3)

    def forward(self, x, y):
        h = self.norm(F.gelu(self.first(x), approximate="tanh")).float()
        rms = h.pow(2).mean(-1, keepdim=True).add(1e-6).rsqrt()
        h = (h * rms).type_as(x)
        logits = self.last(h).float()
        return F.cross_entropy(logits, y).to(x.dtype) + 0.1 * h.half().to(x.dtype).abs().mean()


@case(x="float[6,8]", y="i64[6]<3>")
def mixed_precisions():
    return Mixed()


class Highway(nn.Module):
    """Running average of one's own, gates, chunk, where, lerp and clamps."""

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(10, 20) for _ in range(3)])
        self.head = nn.Linear(10, 1)
        self.register_buffer("average", torch.zeros(10))
        self.register_buffer("seen", torch.zeros((), dtype=torch.long))

    def forward(self, x, y):
        with torch.no_grad():
            self.average.mul_(0.9).add_(x.mean(0), alpha=0.1)
            self.seen += 1
        h = x - self.average
        for layer in self.layers:
            value, gate = layer(h).chunk(2, dim=-1)
            h = torch.lerp(h, F.relu6(value), torch.sigmoid(gate))
        h = torch.where(h > 0, h, 0.1 * h)
        quantiles = torch.tensor([0.1, 0.5, 0.9], dtype=h.dtype)
        error = y[:, None] - self.head(h)
        return torch.maximum(quantiles * error, (quantiles - 1) * error).mean()


@case(quick=True, x="float[7,10]", y="float[7]", eval_form=False)
def highway_own_average():
    return Highway()
