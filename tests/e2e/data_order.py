"""The order of samples and the noise of a job, drawn again in Python.

Both are functions of the seed and a counter (src/braid/data/order.cpp,
src/braid/train/array/batch_feed.cpp).
"""

import numpy as np
import torch
from masks import mix_bits, philox, wrapped


def stable_hash(text):
    value = 0xCBF29CE484222325
    for byte in text.encode():
        value = wrapped((value ^ byte) * 0x100000001B3)
    return value


def random_bits(seed, what, number, count):
    """The first `count` draws of 64 bits of a stream."""
    key = mix_bits(mix_bits(seed, stable_hash(what)), 0)
    words = philox(key, np.arange((count + 1) // 2, dtype=np.uint64), number)
    pairs = words.reshape(-1, 2)[:count]
    return [int(high) << 32 | int(low) for high, low in pairs]


def epoch_order(size, seed, epoch):
    """Fisher and Yates, from the end."""
    places = list(range(size))
    draws = random_bits(seed, "shuffle", epoch, size - 1)
    for last, draw in zip(range(size - 1, 0, -1), draws, strict=True):
        other = draw * (last + 1) >> 64
        places[last], places[other] = places[other], places[last]
    return places


def batches(data, job, steps):
    """The batches of a job's first steps; `data` are tensors of all samples."""
    size, rows = len(next(iter(data.values()))), job["batch_size"]
    shuffled = job["data"].get("shuffle", True)
    found, epoch = [], 0
    while len(found) < steps:
        order = epoch_order(size, job.get("seed", 0), epoch) if shuffled else list(range(size))
        parts = [order[i : i + rows] for i in range(0, size, rows)]
        found += [p for p in parts if len(p) == rows or not job.get("drop_last")]
        epoch += 1
    return [{name: t[part] for name, t in data.items()} for part in found[:steps]]


def noise(shape, seed, name, step):
    """Normal numbers of one step, float64."""
    key = mix_bits(seed, stable_hash(f"noise/{name}"))
    words = philox(key, np.arange(np.prod(shape), dtype=np.uint64), step)
    first, second = words[:, 0] * 2.0**-32, words[:, 1] * 2.0**-32
    values = np.sqrt(-2 * np.log(1 - first)) * np.cos(6.283185307179586 * second)
    return torch.from_numpy(values.reshape(shape))


def split(size, share, seed=0):
    """What a split trains and evaluates on: Fisher and Yates, from the front."""
    count = round(share * size) if share < 1 else share
    row = list(range(size))
    for i, draw in zip(range(count), random_bits(seed, "split", 0, count), strict=True):
        other = i + (draw * (size - i) >> 64)
        row[i], row[other] = row[other], row[i]
    return sorted(row[count:]), sorted(row[:count])
