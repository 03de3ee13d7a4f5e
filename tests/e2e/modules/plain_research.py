"""Modules as research code has them: losses, targets and tables of its own."""

import math

import torch
from torch import nn
from torch.nn import functional as F
from torch.nn.utils import parametrizations, parametrize
from torch.utils.checkpoint import checkpoint

from .case import table

CASES, case = table()


class Clip(nn.Module):
    """Two towers, a learned temperature, a loss over the whole batch."""

    def __init__(self):
        super().__init__()
        self.image = nn.Sequential(
            nn.Conv2d(3, 8, 4, 4), nn.GELU(), nn.Flatten(), nn.Linear(128, 12)
        )
        self.text = nn.EmbeddingBag(40, 12, mode="mean")
        self.scale = nn.Parameter(torch.tensor(math.log(1 / 0.07)))

    def forward(self, x, words):
        a = F.normalize(self.image(x), dim=-1)
        b = F.normalize(self.text(words), dim=-1)
        logits = self.scale.exp().clamp(max=100) * a @ b.T
        target = torch.arange(len(x))
        return (F.cross_entropy(logits, target) + F.cross_entropy(logits.T, target)) / 2


@case(x="float[6,3,16,16]", words="i64[6,5]<40>")
def contrastive_towers():
    return Clip()


class Byol(nn.Module):
    """Targets without gradient from an average of the weights in buffers."""

    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(10, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 8))
        self.predictor = nn.Linear(8, 8)
        for name, parameter in self.net.named_parameters():
            self.register_buffer("ema_" + name.replace(".", "_"), parameter.detach().clone())

    @torch.no_grad()
    def update(self):
        for name, parameter in self.net.named_parameters():
            average = getattr(self, "ema_" + name.replace(".", "_"))
            average.mul_(0.9).add_(parameter, alpha=0.1)

    def target(self, x):
        h = F.linear(x, self.ema_0_weight, self.ema_0_bias)
        h = F.batch_norm(h, None, None, self.ema_1_weight, self.ema_1_bias, training=True)
        return F.linear(h.relu(), self.ema_3_weight, self.ema_3_bias)

    def forward(self, x):
        noisy = x * 1.1 + 0.1
        if self.training:
            self.update()
        a = self.predictor(self.net(x))
        with torch.no_grad():
            b = self.target(noisy)
        return 2 - 2 * F.cosine_similarity(a, b, dim=-1).mean()


@case(quick=True, eval_form=False, x="float[8,10]")
def averaged_targets():
    return Byol()


class Symmetric(nn.Module):
    def forward(self, w):
        return w.triu() + w.triu(1).T


class Parametrized(nn.Module):
    """Weights that are functions of parameters, old and new style."""

    def __init__(self):
        super().__init__()
        self.a = parametrizations.weight_norm(nn.Linear(8, 8))
        self.b = nn.utils.weight_norm(nn.Conv1d(8, 8, 3, padding=1))
        self.c = nn.Linear(8, 8)
        parametrize.register_parametrization(self.c, "weight", Symmetric())
        self.d = parametrizations.orthogonal(nn.Linear(8, 8), orthogonal_map="cayley")
        self.head = nn.Linear(8, 3)

    def forward(self, x, y):
        h = F.mish(self.a(x)).transpose(1, 2)
        h = F.silu(self.b(h)).transpose(1, 2)
        return F.cross_entropy(self.head(self.d(self.c(h).tanh()).mean(1)), y)


@case(x="float[4,6,8]", y="i64[4]<3>")
def parametrized_weights():
    return Parametrized()


class Detector(nn.Module):
    """Several heads, masked losses, a focal loss, boxes with smooth L1."""

    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(3, 12, 3, 2, 1), nn.GroupNorm(3, 12), nn.LeakyReLU(0.1, inplace=True),
            nn.Conv2d(12, 12, 3, 2, 1), nn.GroupNorm(4, 12), nn.ELU(),
        )  # fmt: skip
        self.classes, self.boxes = nn.Conv2d(12, 4, 1), nn.Conv2d(12, 4, 1)
        self.depth, self.balance = nn.Conv2d(12, 1, 1), nn.Parameter(torch.zeros(3))

    def focal(self, logits, y):
        nll = F.cross_entropy(logits, y, reduction="none")
        return ((1 - torch.exp(-nll)) ** 2 * nll).mean()

    def forward(self, x, y, box, depth):
        h = self.body(x)
        seen = (y > 0).to(x.dtype)
        l1 = F.smooth_l1_loss(self.boxes(h).sigmoid(), box, reduction="none", beta=0.1).sum(1)
        valid = depth > 0
        apart = torch.where(valid, self.depth(h).squeeze(1) - depth, torch.zeros_like(depth))
        losses = torch.stack([
            self.focal(self.classes(h), y),
            (l1 * seen).sum() / seen.sum().clamp(min=1),
            F.huber_loss(apart, torch.zeros_like(apart), reduction="sum") / valid.sum(),
        ])  # fmt: skip
        return (torch.exp(-self.balance) * losses + self.balance).sum()


@case(
    x="float[2,3,16,16]", y="i64[2,4,4]<4>", box="float[2,4,4,4]",
    depth="float[2,4,4]",
)  # fmt: skip
def detector_heads():
    return Detector()


class Quantizer(nn.Module):
    """A codebook with straight-through gradients and running counts."""

    def __init__(self):
        super().__init__()
        self.encode, self.decode = nn.Linear(8, 4), nn.Linear(4, 8)
        self.codes = nn.Embedding(12, 4)
        self.register_buffer("counts", torch.zeros(12))

    def forward(self, x):
        z = self.encode(x)
        distances = z.pow(2).sum(1, keepdim=True) - 2 * z @ self.codes.weight.T
        distances = distances + self.codes.weight.pow(2).sum(1)
        index = distances.argmin(1)
        code = self.codes(index)
        used = F.one_hot(index, 12).to(x.dtype)
        self.counts.mul_(0.99).add_(used.sum(0), alpha=0.01)
        passed = z + (code - z).detach()
        perplexity = torch.exp(-(used.mean(0) * torch.log(used.mean(0) + 1e-10)).sum())
        loss = F.mse_loss(self.decode(passed), x) + F.mse_loss(code, z.detach())
        return loss + 0.25 * F.mse_loss(z, code.detach()) + 0 * perplexity


@case(eval_form=False, x="float[9,8]")
def vector_quantizer():
    return Quantizer()


class Gated(nn.Module):
    """A state-space block with a scan, as written without kernels."""

    def __init__(self, width=8, states=4):
        super().__init__()
        self.inner, self.out = nn.Linear(width, 2 * width), nn.Linear(width, 5)
        self.conv = nn.Conv1d(width, width, 3, padding=2, groups=width)
        self.steps, self.select = nn.Linear(width, width), nn.Linear(width, 2 * states, bias=False)
        self.rates = nn.Parameter(torch.log(torch.arange(1, states + 1.0)).repeat(width, 1))
        self.skip = nn.Parameter(torch.ones(width))

    def forward(self, x, y):
        h, gate = self.inner(x).chunk(2, -1)
        h = F.silu(self.conv(h.mT)[..., : x.shape[1]].mT)
        b, c = self.select(h).chunk(2, -1)
        dt = F.softplus(self.steps(h))
        decay = torch.exp(dt[..., None] * -torch.exp(self.rates))
        fed = (dt * h)[..., None] * b[:, :, None]
        state, outs = torch.zeros_like(fed[:, 0]), []
        for t in range(x.shape[1]):
            state = decay[:, t] * state + fed[:, t]
            outs.append((state * c[:, t, None]).sum(-1))
        h = (torch.stack(outs, 1) + self.skip * h) * F.silu(gate)
        return F.cross_entropy(self.out(h).transpose(1, 2), y, label_smoothing=0.1)


@case(x="float[2,6,8]", y="i64[2,6]<5>")
def selective_scan():
    return Gated()


class Rotary(nn.Module):
    """A decoder with rotary tables in complex numbers, grouped heads, a window."""

    def __init__(self, width=16, heads=4, length=12):
        super().__init__()
        self.embed = nn.Embedding(30, width)
        self.q, self.kv = nn.Linear(width, width, False), nn.Linear(width, width, False)
        self.norm, self.gate = nn.RMSNorm(width, 1e-5), nn.Linear(width, 48, False)
        self.down = nn.Linear(24, width, False)
        angles = torch.outer(torch.arange(length), 10 ** -torch.linspace(0, 2, 2))
        self.register_buffer("angles", angles, False)
        self.heads = heads

    def rotate(self, x):
        pairs = torch.view_as_complex(x.float().unflatten(-1, (-1, 2)).contiguous())
        turn = torch.polar(torch.ones_like(self.angles), self.angles)[: x.shape[1], None]
        turned = torch.view_as_real(pairs * turn).flatten(-2)
        return turned.type_as(x)

    def forward(self, ids):
        h = self.embed(ids)
        n, t, _ = h.shape
        x = self.norm(h)
        q = self.rotate(self.q(x).view(n, t, self.heads, -1))
        k, v = self.kv(x).view(n, t, 2, 2, -1).unbind(2)
        k = self.rotate(k)
        k, v = (a.repeat_interleave(2, dim=2) for a in (k, v))
        place = torch.arange(t)
        near = (place[None] <= place[:, None]) & (place[:, None] - place[None] < 4)
        scores = torch.einsum("nthd,nshd->nhts", q, k) / math.sqrt(q.shape[-1])
        scores = scores.masked_fill(~near, torch.finfo(scores.dtype).min)
        a = torch.einsum("nhts,nshd->nthd", scores.softmax(-1), v)
        h = h + a.reshape(n, t, -1)
        up, gate = self.gate(self.norm(h)).chunk(2, -1)
        h = h + self.down(up * F.silu(gate))
        logits = F.linear(h[:, :-1], self.embed.weight)
        return F.cross_entropy(logits.reshape(-1, 30), ids[:, 1:].reshape(-1))


@case(ids="i64[2,9]<30>")
def rotary_decoder():
    return Rotary()


class Routed(nn.Module):
    """Two of four experts for each token, with a loss that balances them."""

    def __init__(self):
        super().__init__()
        self.router = nn.Linear(8, 4, bias=False)
        self.experts = nn.ModuleList(
            nn.Sequential(nn.Linear(8, 16), nn.GELU("tanh"), nn.Linear(16, 8)) for _ in range(4)
        )
        self.head = nn.Linear(8, 3)

    def forward(self, x, y):
        tokens = x.flatten(0, 1)
        shares = self.router(tokens).softmax(-1)
        weight, chosen = shares.topk(2)
        weight = weight / weight.sum(-1, keepdim=True)
        mixed = torch.zeros_like(tokens)
        for k, expert in enumerate(self.experts):
            part = (weight * (chosen == k)).sum(-1, keepdim=True)
            mixed = mixed + part * expert(tokens)
        load = F.one_hot(chosen[:, 0], 4).to(x.dtype).mean(0)
        balance = 4 * (load * shares.mean(0)).sum()
        h = (x + mixed.view_as(x)).amax(1)
        return F.cross_entropy(self.head(h), y) + 0.01 * balance


@case(x="float[3,5,8]", y="i64[3]<3>")
def routed_experts():
    return Routed()


class Spectral(nn.Module):
    """Products in the frequency domain with complex weights."""

    def __init__(self, width=6, modes=4):
        super().__init__()
        self.lift, self.drop = nn.Conv2d(2, width, 1), nn.Conv2d(width, 1, 1)
        self.local = nn.Conv2d(width, width, 1)
        shape = (2, width, width, modes, modes)
        self.weight = nn.Parameter(torch.randn(*shape, 2) / width)
        self.modes = modes

    def forward(self, x, y):
        h = self.lift(x)
        spectrum = torch.fft.rfft2(h, norm="ortho")
        weight, m = torch.view_as_complex(self.weight), self.modes
        out = torch.zeros_like(spectrum)
        out[:, :, :m, :m] = torch.einsum("bixy,ioxy->boxy", spectrum[:, :, :m, :m], weight[0])
        out[:, :, -m:, :m] = torch.einsum("bixy,ioxy->boxy", spectrum[:, :, -m:, :m], weight[1])
        h = F.gelu(torch.fft.irfft2(out, s=h.shape[-2:], norm="ortho") + self.local(h))
        apart = (self.drop(h) - y).flatten(1)
        return (apart.norm(dim=1) / y.flatten(1).norm(dim=1)).mean()


@case(x="float[2,2,12,12]", y="float[2,1,12,12]")
def fourier_operator():
    return Spectral()


class Window(nn.Module):
    """Window attention with a shift, a table of relative positions, unfolds."""

    def __init__(self, width=8, size=4):
        super().__init__()
        self.size, self.qkv = size, nn.Linear(width, 3 * width)
        self.table = nn.Parameter(torch.randn((2 * size - 1) ** 2, 2) * 0.1)
        axis = torch.arange(size)
        place = torch.stack(torch.meshgrid(axis, axis, indexing="ij")).flatten(1)
        apart = (place[:, :, None] - place[:, None]) + size - 1
        self.register_buffer("index", apart[0] * (2 * size - 1) + apart[1])
        self.merge, self.head = nn.Linear(4 * width, 12), nn.Linear(12, 3)

    def windows(self, x):
        n, h, w, c = x.shape
        s = self.size
        x = x.view(n, h // s, s, w // s, s, c).permute(0, 1, 3, 2, 4, 5)
        return x.reshape(-1, s * s, c)

    def forward(self, x, y):
        n, h, w, c = x.shape
        x = torch.roll(x, (-2, -2), (1, 2))
        q, k, v = self.qkv(self.windows(x)).view(-1, 16, 3, 2, c // 2).permute(2, 0, 3, 1, 4)
        bias = self.table[self.index.view(-1)].view(16, 16, 2).permute(2, 0, 1)
        a = ((q * (c // 2) ** -0.5) @ k.transpose(-2, -1) + bias.unsqueeze(0)).softmax(-1)
        a = (a @ v).transpose(1, 2).reshape(n, h // 4, w // 4, 4, 4, c)
        a = torch.roll(a.permute(0, 1, 3, 2, 4, 5).reshape(n, h, w, c), (2, 2), (1, 2))
        parts = [a[:, i::2, j::2] for j in (0, 1) for i in (0, 1)]
        return F.cross_entropy(self.head(self.merge(torch.cat(parts, -1)).mean((1, 2))), y)


@case(x="float[2,8,8,8]", y="i64[2]<3>")
def shifted_windows():
    return Window()


class Queue(nn.Module):
    """A bank of former keys and a pointer, written in place without gradient."""

    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(8, 5)
        self.register_buffer("queue", F.normalize(torch.randn(5, 12), dim=0))
        self.register_buffer("place", torch.zeros(1, dtype=torch.long))

    def forward(self, x):
        key = F.normalize(self.fc(x), dim=1)
        same = (key * key.roll(1, 0)).sum(1, keepdim=True)
        logits = torch.cat([same, key @ self.queue.clone().detach()], 1) / 0.2
        loss = F.cross_entropy(logits, torch.zeros(len(x), dtype=torch.long))
        with torch.no_grad():
            self.queue[:, : len(x)] = key.T
            self.queue.copy_(self.queue.roll(len(x), 1))
            self.place[0] = (self.place[0] + len(x)) % 12
        return loss


@case(eval_form=False, x="float[4,8]")
def memory_bank():
    return Queue()


class Memory(nn.Module):
    """Overlapping windows by strides, repeats by counts, checkpoints."""

    def __init__(self):
        super().__init__()
        self.a, self.b, self.head = nn.Linear(8, 8), nn.Linear(8, 8), nn.Linear(12, 3)
        self.register_buffer("counts", torch.tensor([1, 2, 0, 1]), persistent=False)

    def forward(self, x, y):
        h = checkpoint(lambda t: self.a(t).relu(), self.b(x), use_reentrant=True)
        h = checkpoint(lambda t: self.b(t).relu(), h, use_reentrant=False)
        windows = h.contiguous().as_strided((4, 3, 4), (8, 2, 1))
        near = h @ h.T
        near.fill_diagonal_(0.5)
        rows = torch.repeat_interleave(windows.flatten(1), self.counts, 0, output_size=4)
        return F.cross_entropy(self.head(near.softmax(-1) @ rows), y) + near.ravel().square().mean()


@case(quick=True, x="float[4,8]", y="i64[4]<3>")
def strides_and_checkpoints():
    return Memory()
