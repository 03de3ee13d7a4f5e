"""The masks that Braid draws, drawn again in Python and given to PyTorch.

A mask is a function of the member's seed, its step, the micro-batch, the key
of the dropout and the element (src/braid/base/rng.h). The keys stand in the
text of the graph, in the order in which the forward pass draws.
"""

import re

import numpy as np
import torch
from braid_run import run_braid
from torch.utils._python_dispatch import TorchDispatchMode

U32 = np.uint64(0xFFFFFFFF)
HALF = np.uint64(32)


def wrapped(value):
    return value & 0xFFFFFFFFFFFFFFFF


def mix_bits(a, b):
    z = wrapped(a + 0x9E3779B97F4A7C15 * (b + 1))
    z = wrapped((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9)
    z = wrapped((z ^ (z >> 27)) * 0x94D049BB133111EB)
    return z ^ (z >> 31)


def philox(key, low, high):
    """Philox 4x32-10 of the counters `low`, an array: [len(low), 4] words."""
    k0, k1 = key & 0xFFFFFFFF, key >> 32
    moment = np.full_like(low, high)
    c = [low & U32, low >> HALF, moment & U32, moment >> HALF]
    for _ in range(10):
        p0, p1 = np.uint64(0xD2511F53) * c[0], np.uint64(0xCD9E8D57) * c[2]
        c = [
            (p1 >> HALF) ^ c[1] ^ np.uint64(k0), p1 & U32,
            (p0 >> HALF) ^ c[3] ^ np.uint64(k1), p0 & U32,
        ]  # fmt: skip
        k0, k1 = (k0 + 0x9E3779B9) & 0xFFFFFFFF, (k1 + 0xBB67AE85) & 0xFFFFFFFF
    return np.stack(c, 1)


def kept(count, p, rng_key, seed=0, step=0, micro=0):
    """Which of `count` elements stay, as a flat tensor of bools."""
    blocks = np.arange((count + 3) // 4, dtype=np.uint64)
    words = philox(mix_bits(seed, rng_key), blocks, step << 16 | micro)
    return torch.from_numpy(words.reshape(-1)[:count] * 2.0**-32 >= p)


def rng_keys(model, *words):
    """The key of every draw of a model's forward pass."""
    text = run_braid("inspect", model, "--dump-after", "forward", *words).stdout
    return [int(key, 16) for key in re.findall(r" = dropout\(.* rng=(0x[0-9a-f]+)", text)]


class Injected(TorchDispatchMode):
    """Every dropout of PyTorch inside this takes the mask that Braid draws.

    On a CPU all of them (also of attention, recurrent layers and stochastic
    depth) ask bernoulli_ for their noise. A run of `steps` may be repeated.
    """

    def __init__(self, keys, steps, seed=0, accumulate=1):
        super().__init__()
        self.keys, self.steps = keys, steps
        self.seed, self.accumulate = seed, accumulate
        self.draws = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        if function is not torch.ops.aten.bernoulli_.float:
            return function(*args, **(kwargs or {}))
        noise, rate = (*args, 0.5)[:2]
        number, place = divmod(self.draws, len(self.keys))
        step, micro = divmod(number, self.accumulate)
        self.draws += 1
        mask = kept(noise.numel(), 1 - rate, self.keys[place], self.seed, step % self.steps, micro)
        return noise.copy_(mask.view(noise.shape))
