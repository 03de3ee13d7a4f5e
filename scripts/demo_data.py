"""Draws a small data set of noisy shapes and writes it as one batch.

    demo_data.py OUT.safetensors [COUNT]

x[COUNT, 1, 28, 28] float32 images, y[COUNT] int64: disc, square, cross, ring.
"""

import sys

import numpy as np
from safetensors.numpy import save_file

SIDE = 28
NOISE = 0.4


def shape_mask(kind, dx, dy, radius):
    """Whether each pixel at (dx, dy) from the centre belongs to the shape."""
    distance = np.hypot(dx, dy)
    if kind == 0:
        return distance < radius
    if kind == 1:
        return np.maximum(abs(dx), abs(dy)) < 0.85 * radius
    if kind == 2:
        arms = np.minimum(abs(dx), abs(dy)) < 0.3 * radius
        return arms & (np.maximum(abs(dx), abs(dy)) < radius)
    return (distance < radius) & (distance > 0.55 * radius)


def draw(random, kind):
    rows, columns = np.mgrid[0:SIDE, 0:SIDE]
    centre = random.uniform(9, 19, size=2)
    angle = random.uniform(0, np.pi / 2)
    u, v = columns - centre[0], rows - centre[1]
    dx = u * np.cos(angle) + v * np.sin(angle)
    dy = v * np.cos(angle) - u * np.sin(angle)
    image = shape_mask(kind, dx, dy, random.uniform(5, 9)).astype(np.float32)
    return image + NOISE * random.standard_normal((SIDE, SIDE), dtype=np.float32)


def main():
    path = sys.argv[1]
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 256
    random = np.random.default_rng(7)
    y = random.integers(4, size=count)
    x = np.stack([draw(random, kind) for kind in y])[:, None]
    save_file({"x": np.ascontiguousarray(x, dtype=np.float32), "y": y.astype(np.int64)}, path)


if __name__ == "__main__":
    main()
