"""Augmentation against the same written in NumPy by its definitions.

A network that shows what it was fed: its loss is the sum of weights times pixels, so that
after a step of SGD with a rate of 1 the weights are the images, with the other sign; and
a cross entropy of free scores, whose gradient shows the targets."""

import atexit
import colorsys
import json
import re
import shutil
import tempfile
from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest
import torch
from braid_run import run_braid
from data_order import stable_hash
from exporting import export
from job_run import JobRun, bits
from masks import mix_bits, philox
from torch import nn
from torch.nn import functional as F

COUNT, CLASSES = 24, 4


class Shows(nn.Module):
    def __init__(self, shape, count):
        super().__init__()
        self.seen = nn.Parameter(torch.zeros(count, *shape))
        self.scores = nn.Parameter(torch.zeros(count, CLASSES))

    def forward(self, x, y):
        return (self.seen * x).sum() + F.cross_entropy(self.scores, y, reduction="sum")


class Stream:
    """The draws of one sample (src/braid/data/sample_random.h)."""

    def __init__(self, seed, what, number, epoch):
        key = mix_bits(mix_bits(seed, stable_hash(what)), epoch)
        words = philox(key, np.arange(64, dtype=np.uint64), number).reshape(-1, 2)
        self.draws = iter([int(high) << 32 | int(low) for high, low in words])

    def below(self, count):
        return next(self.draws) * count >> 64

    def unit(self):
        return (next(self.draws) >> 11) * 2.0**-53

    def between(self, low, high):
        return low + (high - low) * self.unit()

    def normal(self):
        radius = np.sqrt(-2 * np.log(1 - self.unit()))
        return radius * np.cos(2 * np.pi * self.unit())


@lru_cache
def exported(shape, count):
    """One file for all tests that need it."""
    path = Path(tempfile.mkdtemp(prefix="shows-")) / "shows.pt2"
    atexit.register(shutil.rmtree, path.parent)
    inputs = {"x": torch.zeros(count, *shape), "y": torch.zeros(count).long()}
    export(Shows(shape, count), inputs, path)
    return path


def shown(folder, shape, augment, seed=3, pixels=None, **keys):
    """What two epochs fed: images of both, targets of the first."""
    random = np.random.default_rng(1)
    if pixels is None:
        pixels = random.random((COUNT, *shape), dtype=np.float32)
    labels = random.integers(CLASSES, size=len(pixels))
    np.save(folder / "x.npy", pixels)
    np.save(folder / "y.npy", labels)
    files = {"source": "npy", "files": ["x=x.npy", "y=y.npy"], "classes": CLASSES}
    job = {
        "model": str(exported(shape, len(pixels))),
        "data": files | {"shuffle": False, "augment": augment},
        "steps": 2, "batch_size": len(pixels), "seed": seed, "threads": 1,
        "optimizer": {"kind": "sgd", "lr": 1}, "checkpoint": {"every": 1, "keep": 9},
    } | keys  # fmt: skip
    (folder / "job.yaml").write_text(json.dumps(job))
    run_braid("train", folder / "job.yaml", "--out", folder / "run", "-q")
    run = JobRun(folder / "run")
    first, second = (run.state(step=step) for step in (1, 2))
    images = [-first["seen"].numpy(), (first["seen"] - second["seen"]).numpy()]
    return pixels, labels, images, first["scores"].numpy() + 1 / CLASSES


def expect(images, make, tolerance=2e-6):
    for epoch, got in enumerate(images):
        want = np.stack([make(i, epoch) for i in range(len(got))])
        assert np.abs(want).max() > 0.1
        np.testing.assert_allclose(got, want, rtol=0, atol=tolerance)


def rotated(image, degrees):
    """Counter-clockwise, bilinear, zeros outside: each target pixel from its source."""
    _, height, width = image.shape
    angle = np.deg2rad(degrees)
    rows, columns = np.mgrid[:height, :width].astype(float)
    up, right = (height - 1) / 2 - rows, columns - (width - 1) / 2
    from_right = right * np.cos(angle) + up * np.sin(angle)
    from_up = up * np.cos(angle) - right * np.sin(angle)
    y, x = (height - 1) / 2 - from_up, from_right + (width - 1) / 2
    padded = np.pad(image.astype(float), ((0, 0), (1, 1), (1, 1)))
    out = np.zeros(image.shape)
    for dy in (0, 1):
        for dx in (0, 1):
            row, column = np.floor(y) + dy, np.floor(x) + dx
            weight = (1 - np.abs(y - row)) * (1 - np.abs(x - column))
            row = np.clip(row, -1, height).astype(int) + 1
            column = np.clip(column, -1, width).astype(int) + 1
            out += weight * padded[:, row, column]
    return out


@pytest.mark.parametrize("shape", [(3, 4, 5), (1, 5, 8), (2, 1, 1)])
def test_images_turn(tmp_path, shape):
    pixels, _, images, _ = shown(tmp_path, shape, {"rotate": 40})
    expect(images, lambda i, epoch: rotated(
        pixels[i], Stream(3, "rotate", i, epoch).between(-40, 40)), 1e-5)  # fmt: skip


def grey(image):
    if len(image) == 1:
        return image
    return (0.2989 * image[0] + 0.587 * image[1] + 0.114 * image[2])[None]


def blended(image, other, factor):
    return np.clip(factor * image + (1 - factor) * other, 0, 1)


def turned(image, share):
    if len(image) == 1:
        return image
    out = image.copy()
    for row in range(image.shape[1]):
        for column in range(image.shape[2]):
            hue, saturation, value = colorsys.rgb_to_hsv(*image[:, row, column])
            out[:, row, column] = colorsys.hsv_to_rgb((hue + share) % 1, saturation, value)
    return out


def coloured(image, stream, brightness=0, contrast=0, saturation=0, hue=0):
    image = image.astype(float)
    order = [0, 1, 2, 3]
    for last in (3, 2, 1):
        other = stream.below(last + 1)
        order[last], order[other] = order[other], order[last]
    strengths = (brightness, contrast, saturation)
    factors = [stream.between(max(0, 1 - s), 1 + s) for s in strengths]
    share = stream.between(-hue, hue)
    changes = [
        lambda x: blended(x, 0 * x, factors[0]),
        lambda x: blended(x, grey(x).mean(), factors[1]),
        lambda x: blended(x, grey(x), factors[2]),
        lambda x: turned(x, share),
    ]
    for what in order:
        if (*strengths, hue)[what] > 0:
            image = changes[what](image)
    return image


COLOURS = [
    {"brightness": 0.4},
    {"contrast": 1.5},
    {"saturation": 0.9},
    {"hue": 0.5},
    {"brightness": 0.3, "contrast": 0.3, "saturation": 0.3, "hue": 0.1},
]


@pytest.mark.parametrize("changes", COLOURS, ids=lambda c: "+".join(c))
def test_colours_change(tmp_path, changes):
    pixels, _, images, _ = shown(tmp_path, (3, 4, 5), changes)
    expect(images, lambda i, epoch: coloured(
        pixels[i], Stream(3, "colour", i, epoch), **changes), 1e-5)  # fmt: skip


def test_grey_images_have_brightness_and_contrast(tmp_path):
    changes = {"brightness": 0.5, "contrast": 0.5, "saturation": 0.5, "hue": 0.5}
    pixels, _, images, _ = shown(tmp_path, (1, 5, 8), changes)
    expect(images, lambda i, epoch: coloured(
        pixels[i], Stream(3, "colour", i, epoch), **changes), 1e-5)  # fmt: skip


def cut(image, stream, side):
    image = image.copy()
    y, x = stream.below(image.shape[1]), stream.below(image.shape[2])
    top, left = y - side // 2, x - side // 2
    image[:, max(0, top) : max(0, top + side), max(0, left) : max(0, left + side)] = 0
    return image


@pytest.mark.parametrize("side", [1, 3, 4])
def test_squares_are_cut_out_after_the_mean(tmp_path, side):
    pixels, _, images, _ = shown(tmp_path, (3, 4, 5), {"cutout": side, "mean": 0.5, "std": 0.25})
    expect(images, lambda i, epoch: cut(
        (pixels[i] - 0.5) / 0.25, Stream(3, "cutout", i, epoch), side))  # fmt: skip


def log_gamma(stream, shape):
    if shape < 1:
        more = log_gamma(stream, shape + 1)
        return more + np.log(1 - stream.unit()) / shape
    d = shape - 1 / 3
    while True:
        x = stream.normal()
        u, v = 1 - stream.unit(), (1 + x / np.sqrt(9 * d)) ** 3
        if v > 0 and np.log(u) < 0.5 * x * x + d - d * v + d * np.log(v):
            return np.log(d * v)


def partner(i, epoch, alpha, seed=3):
    stream = Stream(seed, "mixup", i, epoch)
    other = stream.below(COUNT)
    a, b = log_gamma(stream, alpha), log_gamma(stream, alpha)
    return other, 1 / (1 + np.exp(b - a))


@pytest.mark.parametrize("alpha", [0.2, 1, 3])
def test_mixup_mixes_images_and_labels(tmp_path, alpha):
    pixels, labels, images, targets = shown(tmp_path, (3, 4, 5), {"mixup": alpha})

    def mixed(i, epoch, values):
        other, share = partner(i, epoch, alpha)
        return share * values[i] + (1 - share) * values[other]

    expect(images, lambda i, epoch: mixed(i, epoch, pixels), 1e-5)
    expect([targets], lambda i, epoch: mixed(i, epoch, np.eye(CLASSES)[labels]), 1e-5)


def test_all_changes_together_keep_their_order(tmp_path):
    """What is mixed is what each would have been alone."""
    changes = {"flip": True, "crop": 1, "rotate": 10, "hue": 0.2, "mean": 0.4, "cutout": 2}
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    _, _, plain, _ = shown(tmp_path / "a", (3, 4, 5), changes)
    _, _, mixed, _ = shown(tmp_path / "b", (3, 4, 5), changes | {"mixup": 1})

    def make(i, epoch):
        other, share = partner(i, epoch, 1)
        return share * plain[epoch][i] + (1 - share) * plain[epoch][other]

    expect(mixed, make, 1e-5)


# Whole trainings.

GLYPHS = {"source": "glyphs", "count": 60, "size": 28, "classes": 10}
MIXED = GLYPHS | {"augment": {"mixup": 0.4, "rotate": 10, "brightness": 0.2}}


def lenet(folder, name, data=MIXED, code=0, **keys):
    job = {
        "model": "lenet", "data": data, "steps": 9, "batch_size": 16, "seed": 1, "threads": 1,
        "optimizer": {"kind": "sgd", "lr": 0.05}, "checkpoint": {"every": 4, "keep": 9},
        "eval": {"data": GLYPHS | {"part": "test", "count": 30}, "every": 4},
    } | keys  # fmt: skip
    path = folder / f"{name}.yaml"
    path.write_text(json.dumps(job))
    done = run_braid("train", path, "--out", folder / name, "-q", code=code)
    return JobRun(folder / name) if code == 0 else done.stderr


def test_a_mixed_training_evaluates_plain_labels(tmp_path):
    """The first evaluation, of weights that a rate of 0 leaves, is that without mixup."""
    still = {"optimizer": {"kind": "sgd", "lr": 0}}
    mixed = lenet(tmp_path, "mixed", **still).evaluation
    plain = lenet(tmp_path, "plain", GLYPHS, **still).evaluation
    for key in ("loss", "accuracy"):
        assert mixed[key] == plain[key]


@pytest.mark.parametrize("seed", [None, 7])
def test_members_of_an_array_mix_as_alone(tmp_path, seed):
    """With data of their own, and, where the seed of the order is one, shared."""
    data = MIXED if seed is None else MIXED | {"order_seed": seed}
    rates = [0.05, 0.02, 0.1]
    alone = []
    for i, rate in enumerate(rates):
        optimizer = {"kind": "sgd", "lr": rate}
        alone.append(bits(lenet(tmp_path, f"one-{i}", data, optimizer=optimizer, seed=i + 1)))
    job = json.loads((tmp_path / "one-0.yaml").read_text())
    del job["seed"]
    job["members"] = [{"seed": i + 1, "optimizer.lr": rate} for i, rate in enumerate(rates)]
    (tmp_path / "all.yaml").write_text(json.dumps(job))
    run_braid("train", tmp_path / "all.yaml", "--out", tmp_path / "all", "-q")
    configs = list((tmp_path / "all").glob("*/config.yaml"))
    assert len(configs) == len(rates)
    for config in configs:
        seed_of = int(re.search(r"^seed: (\d+)$", config.read_text(), re.MULTILINE)[1])
        got = [row["loss"] for row in JobRun(config.parent).rows]
        want = [row["loss"] for row in alone[seed_of - 1][1]]
        np.testing.assert_allclose(got, want, rtol=2e-5)


WRONG = [
    ({"mixup": -1}, "expected a number from 0 to 1000 for 'mixup', got -1"),
    ({"hue": 0.6}, "expected a number from 0 to 0.5 for 'hue', got 0.6"),
    ({"rotate": 181}, "expected a number from 0 to 180 for 'rotate', got 181"),
    ({"cutout": 5000}, "expected a cutout of at most 4096 pixels, got 5000"),
]


@pytest.mark.parametrize("augment, text", WRONG)
def test_what_cannot_be_drawn_is_refused(tmp_path, augment, text):
    assert text in lenet(tmp_path, "a", GLYPHS | {"augment": augment}, code=2)


def test_mixup_needs_a_cross_entropy(tmp_path):
    data = GLYPHS | {"augment": {"mixup": 1}}
    said = lenet(tmp_path, "a", data, code=2, loss="nll", eval={})
    assert "mixup makes probabilities of 'y'" in said and "nll" in said
    said = lenet(tmp_path, "b", data, code=2, model="lenet(classes=12)", eval={})
    assert "probabilities of 10 classes, and the model has 12 outputs" in said
