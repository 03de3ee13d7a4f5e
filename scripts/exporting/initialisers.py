"""How a module draws its parameters, so that other seeds can draw them anew.

A parameter is drawn anew only where two things hold: modules made with other
seeds have other values, so they are random and not loaded; and the values of all
of them fit an initialiser that is named, by the kind of the layer or among those
that people use. Everything else is left as it is in the file.
"""

import contextlib
import json
import math

import torch
from torch import nn

FILE_NAME = "braid_init.json"
SMALL = 2_000_000  # parameters of a module that is cheap to make several times
MANY = 2_000  # samples that tell initialisers of any kind apart
UNLIKELY = 1e-6


def record(module, make):
    """The text of FILE_NAME: {"drawn": {name: initialiser}, "zero_rows": {name: row},
    "constant": [name]}.

    make: builds another such module by torch's present seed.
    """
    size = sum(parameter.numel() for parameter in module.parameters())
    others = [made_by_seed(make, seed) for seed in range(1, 2 if size > SMALL else 4)]
    found = {"format": 1, "drawn": {}, "zero_rows": {}, "constant": []}
    owners = owners_by_parameter(module)
    for name, parameter in module.named_parameters():
        samples = samples_of(parameter, [other.get(name) for other in others])
        if samples is None:
            continue
        if torch.equal(samples[0], samples[1]):
            first = samples[0].flatten()
            if len(first) == 0 or bool((first == first[0]).all()):
                found["constant"].append(name)
            continue
        row = zero_row(owners[name], samples)
        if row is not None:
            samples = torch.cat([samples[:, :row], samples[:, row + 1 :]], 1)
        initialiser = fitting(owners[name], name, samples, module)
        if initialiser is not None:
            found["drawn"][name] = initialiser
            if row is not None:
                found["zero_rows"][name] = row
    return json.dumps(found)


def made_by_seed(make, seed):
    """The parameters of another module, by name."""
    state = torch.random.get_rng_state()
    try:
        torch.manual_seed(0x5EED + seed)
        return {n: p.detach().cpu() for n, p in make().named_parameters()}
    finally:
        torch.random.set_rng_state(state)


def samples_of(parameter, twins):
    """All values of a parameter, [modules, ...]; None where modules differ."""
    values = [parameter.detach().cpu(), *twins]
    if any(v is None or v.shape != parameter.shape for v in values):
        return None
    return torch.stack([v.double() for v in values]) if parameter.is_floating_point() else None


def owners_by_parameter(module):
    """The layer that each parameter belongs to, by the parameter's name."""
    return {
        f"{path}.{name}" if path else name: layer
        for path, layer in module.named_modules()
        for name, _ in layer.named_parameters(recurse=False)
    }


def zero_row(layer, samples):
    row = getattr(layer, "padding_idx", None)
    if not isinstance(layer, (nn.Embedding, nn.EmbeddingBag)) or row is None:
        return None
    return None if bool(samples[:, row].any()) else row


# --- initialisers by name: the text, and whether samples may come from it


def uniform(bound):
    def fits(samples):
        n, most = samples.numel(), float(samples.abs().max())
        return (
            most <= bound * (1 + 2**-8)  # bf16 rounds
            and most >= bound * UNLIKELY ** (1 / n)
            and near(float(samples.square().mean()), bound**2 / 3, 0.9, n)
            and abs(float(samples.mean())) <= 6 * bound / math.sqrt(3 * n)
        )

    return f"uniform(low={-bound!r},high={bound!r})", fits


def normal(std):
    def fits(samples):
        n = samples.numel()
        square = float(samples.square().mean())
        if not near(square, std**2, math.sqrt(2), n):
            return False
        if abs(float(samples.mean())) > 6 * std / math.sqrt(n):
            return False
        fourth = float(samples.pow(4).mean()) / square**2
        return abs(fourth - 3) <= 6 * math.sqrt(24 / n) and not (n >= 400 and fourth < 2.4)

    return f"normal(mean=0,std={std!r})", fits


def trunc_normal(std, low, high):
    """As torch.nn.init.trunc_normal_ cuts: low and high are values."""

    def fits(samples):
        n, a, b = samples.numel(), low / std, high / std
        if float(samples.min()) < low or float(samples.max()) > high:
            return False
        density = lambda z: math.exp(-z * z / 2) / math.sqrt(2 * math.pi)  # noqa: E731
        mass = (math.erf(b / math.sqrt(2)) - math.erf(a / math.sqrt(2))) / 2
        variance = std**2 * (1 - (b * density(b) - a * density(a)) / mass)
        return near(float(samples.square().mean()), variance, math.sqrt(2), n)

    return f"trunc_normal(mean=0,std={std!r},a={low!r},b={high!r})", fits


def orthogonal(gain=1.0):
    def fits(samples):
        for matrix in samples.flatten(2):
            small = matrix if matrix.shape[0] <= matrix.shape[1] else matrix.T
            gram = small @ small.T
            if not torch.allclose(gram, gain**2 * torch.eye(len(gram)).to(gram), atol=1e-4):
                return False
        return True

    return f"orthogonal(gain={gain!r})", fits


def near(value, wanted, spread, n):
    """Within six standard errors of a mean of squares."""
    return abs(value / wanted - 1) <= 6 * spread / math.sqrt(n)


# --- which ones to try


def fitting(layer, name, samples, module):
    """The text of the first initialiser that all values fit, or None."""
    if samples.numel() == 0 or not bool(samples.isfinite().all()):
        return None
    rows = list(layer_default(layer, name.rsplit(".", 1)[-1], samples[0]))
    if samples.numel() >= MANY:
        rows += usual(samples[0], module)
    return next((text for text, fits in rows if fits(samples)), None)


def usual(values, module):
    """Initialisers that people use, whatever the layer."""
    rows = []
    if values.dim() >= 2:
        rows.append(orthogonal())
    std = getattr(getattr(module, "config", None), "initializer_range", None)
    if isinstance(std, float) and std > 0:
        rows += [normal(std), trunc_normal(std, -2.0, 2.0)]
    if values.dim() >= 2:
        fan_in, fan_out = fans(values)
        rows += [
            uniform(math.sqrt(6 / (fan_in + fan_out))),
            normal(math.sqrt(2 / (fan_in + fan_out))),
            normal(math.sqrt(2 / fan_in)),
            normal(math.sqrt(2 / fan_out)),
            uniform(math.sqrt(6 / fan_in)),
        ]
    return [*rows, normal(0.02), normal(1.0), trunc_normal(0.02, -2.0, 2.0)]


def layer_default(layer, name, values):
    """What reset_parameters of the layers of torch.nn does."""
    if isinstance(layer, nn.RNNBase) and layer.hidden_size > 0:
        yield uniform(1 / math.sqrt(layer.hidden_size))
    elif isinstance(layer, nn.RNNCellBase):
        yield uniform(1 / math.sqrt(layer.hidden_size))
    elif isinstance(layer, nn.MultiheadAttention):
        fan_in, fan_out = fans(values) if values.dim() >= 2 else (1, 1)
        bias = name in ("bias_k", "bias_v")
        std = math.sqrt(2 / (fan_in + fan_out))
        yield normal(std) if bias else uniform(std * math.sqrt(3))
    elif isinstance(layer, (nn.Embedding, nn.EmbeddingBag)):
        yield normal(1.0)
    elif isinstance(layer, nn.Bilinear):
        yield uniform(1 / math.sqrt(layer.in1_features))
    elif isinstance(layer, (nn.Linear, nn.modules.conv._ConvNd)):
        with contextlib.suppress(ZeroDivisionError):
            yield uniform(1 / math.sqrt(fans(layer.weight)[0]))


def fans(values):
    """Inputs of one output and outputs of one input, as torch.nn.init counts."""
    kernel = math.prod(values.shape[2:])
    return values.shape[1] * kernel, values.shape[0] * kernel
