"""The models of bench/_workloads.py in plain JAX: loss(p, b, key, *batch) gives
the loss and the new buffers. p and b have the names of the PyTorch twins, whose
first contents they take."""

import math

import jax
import jax.numpy as jnp
from jax import lax
from models.mobilenet import LARGE, make_divisible


class Layers:
    """One call of a model: parameters, buffers (replaced as they change), key."""

    def __init__(self, parameters, buffers, key):
        self.p, self.b, self.key = parameters, dict(buffers), key

    def linear(self, x, name):
        y = x @ self.p[name + ".weight"].T
        bias = self.p.get(name + ".bias")
        return y if bias is None else y + bias

    def conv(self, x, name, stride=1, padding=0, groups=1):
        dims = ("NCHW", "OIHW", "NCHW")
        y = lax.conv_general_dilated(
            x, self.p[name + ".weight"], (stride, stride), [(padding, padding)] * 2,
            dimension_numbers=dims, feature_group_count=groups)
        bias = self.p.get(name + ".bias")
        return y if bias is None else y + bias[:, None, None]

    def point(self, x, name):
        """A convolution of kernel 1 as a product, which XLA does faster."""
        w = self.p[name + ".weight"].reshape(self.p[name + ".weight"].shape[:2])
        y = jnp.einsum("oc,ncs->nos", w, x.reshape(*x.shape[:2], -1))
        bias = self.p.get(name + ".bias")
        y = y if bias is None else y + bias[:, None]
        return y.reshape(*y.shape[:2], *x.shape[2:])

    def batch_norm(self, x, name, momentum=0.1, eps=1e-5):
        kind, x = x.dtype, x.astype(jnp.float32)
        axes = (0, *range(2, x.ndim))
        mean = x.mean(axes)
        var = ((x - mean.reshape(-1, *[1] * (x.ndim - 2))) ** 2).mean(axes)
        count = x.size / x.shape[1]
        for part, new in (("mean", mean), ("var", var * count / (count - 1))):
            old = self.b[f"{name}.running_{part}"]
            self.b[f"{name}.running_{part}"] = old + momentum * (new - old)
        scale = self.p[name + ".weight"] * lax.rsqrt(var + eps)
        shift = self.p[name + ".bias"] - mean * scale
        shape = (-1, *[1] * (x.ndim - 2))
        return (x * scale.reshape(shape) + shift.reshape(shape)).astype(kind)

    def layer_norm(self, x, name, eps=1e-5):
        kind, x = x.dtype, x.astype(jnp.float32)
        mean = x.mean(-1, keepdims=True)
        var = ((x - mean) ** 2).mean(-1, keepdims=True)
        y = (x - mean) * lax.rsqrt(var + eps) * self.p[name + ".weight"] + self.p[name + ".bias"]
        return y.astype(kind)

    def dropout(self, x, rate):
        if rate == 0:
            return x
        self.key, key = jax.random.split(self.key)
        keep = jax.random.bernoulli(key, 1 - rate, x.shape)
        return jnp.where(keep, x / (1 - rate), 0)


def cross_entropy(logits, targets):
    """Over targets that are not negative."""
    rows = jax.nn.log_softmax(logits.astype(jnp.float32))
    seen = targets >= 0
    losses = jnp.take_along_axis(rows, jnp.where(seen, targets, 0)[..., None], -1)[..., 0]
    return -jnp.where(seen, losses, 0).sum() / seen.sum()


def halved(x):
    """Max pooling of 2x2; as a maximum over axes it is faster than windows."""
    n, c, h, w = x.shape
    return x.reshape(n, c, h // 2, 2, w // 2, 2).max((3, 5))


def mlp(at, sizes, x, y):
    for i in range(2):
        x = jax.nn.relu(at.linear(x, f"layers.{i}"))
    return cross_entropy(at.linear(x, "head"), y)


def lenet(at, sizes, x, y):
    x = halved(jax.nn.relu(at.conv(x, "conv1", padding=2)))
    x = halved(jax.nn.relu(at.conv(x, "conv2")))
    x = jax.nn.relu(at.linear(x.reshape(x.shape[0], -1), "fc1"))
    return cross_entropy(at.linear(jax.nn.relu(at.linear(x, "fc2")), "fc3"), y)


def t_net(at, x, name):
    k = x.shape[1]
    y = x
    for i in (1, 2, 3):
        y = jax.nn.relu(at.batch_norm(at.point(y, f"{name}.conv{i}"), f"{name}.bn{i}"))
    y = y.max(2)
    for i in (1, 2):
        y = jax.nn.relu(at.batch_norm(at.linear(y, f"{name}.fc{i}"), f"{name}.bn{i + 3}"))
    return at.linear(y, f"{name}.fc3").reshape(-1, k, k) + jnp.eye(k, dtype=x.dtype)


def pointnet_cls(at, sizes, x, y):
    x = jnp.einsum("ncp,ncd->ndp", x, t_net(at, x, "feat.stn"))
    x = jax.nn.relu(at.batch_norm(at.point(x, "feat.conv1"), "feat.bn1"))
    penalty = 0
    if sizes.get("feature_transform", 1):
        matrix = t_net(at, x, "feat.fstn")
        x = jnp.einsum("ncp,ncd->ndp", x, matrix)
        apart = matrix @ matrix.transpose(0, 2, 1) - jnp.eye(matrix.shape[1])
        penalty = 0.001 * (apart**2).sum((1, 2)).mean()
    x = jax.nn.relu(at.batch_norm(at.point(x, "feat.conv2"), "feat.bn2"))
    x = at.batch_norm(at.point(x, "feat.conv3"), "feat.bn3").max(2)
    x = jax.nn.relu(at.batch_norm(at.linear(x, "fc1"), "bn1"))
    x = at.dropout(at.linear(x, "fc2"), 0.3)
    x = at.linear(jax.nn.relu(at.batch_norm(x, "bn2")), "fc3")
    return cross_entropy(x, y) + penalty


def attend(at, parts, heads, seen):
    """Of queries, keys and values [N, T, C], where `seen` [..., T, T] is true."""
    n, t, c = parts[0].shape
    q, k, v = (a.reshape(n, t, heads, -1) for a in parts)
    scores = jnp.einsum("nthd,nshd->nhts", q, k) / math.sqrt(c // heads)
    weights = jax.nn.softmax(jnp.where(seen, scores, -jnp.inf).astype(jnp.float32))
    weights = at.dropout(weights.astype(v.dtype), 0.1)
    return jnp.einsum("nhts,nshd->nthd", weights, v).reshape(n, t, c)


def past(x):
    """What each token sees."""
    return jnp.tril(jnp.ones((x.shape[1], x.shape[1]), bool))


def attention(at, x, name, heads):
    y = x @ at.p[name + ".in_proj_weight"].T + at.p[name + ".in_proj_bias"]
    return at.linear(attend(at, jnp.split(y, 3, -1), heads, past(x)), name + ".out_proj")


def transformer_lm(at, sizes, tokens, targets):
    table = at.p["embedding.weight"]
    x = table[tokens] * math.sqrt(table.shape[1]) + at.p["positions.weight"][: tokens.shape[1]]
    x = at.dropout(x, 0.1)
    for i in range(sizes["layers"]):
        name = f"layers.{i}"
        y = at.dropout(attention(at, x, name + ".self_attn", sizes["heads"]), 0.1)
        x = at.layer_norm(x + y, name + ".norm1")
        y = at.dropout(jax.nn.relu(at.linear(x, name + ".linear1")), 0.1)
        y = at.dropout(at.linear(y, name + ".linear2"), 0.1)
        x = at.layer_norm(x + y, name + ".norm2")
    return cross_entropy(x @ table.T, targets)


def conv_norm(at, x, name, kernel, stride=1, groups=1):
    if kernel == 1:
        x = at.point(x, name + ".0")
    else:
        x = at.conv(x, name + ".0", stride, kernel // 2, groups)
    return at.batch_norm(x, name + ".1", 0.01, 1e-3)


def inverted_residual(at, x, name, row, width):
    kernel, expanded, outputs, squeeze, act, stride = row
    act = jax.nn.relu if act.__name__ == "ReLU" else jax.nn.hard_swish
    expanded, outputs = make_divisible(expanded * width), make_divisible(outputs * width)
    parts = iter(f"{name}.block.{i}" for i in range(4))
    y = x
    if expanded != x.shape[1]:
        y = act(conv_norm(at, y, next(parts), 1))
    y = act(conv_norm(at, y, next(parts), kernel, stride, expanded))
    if squeeze:
        part = next(parts)
        s = jax.nn.relu(at.point(y.mean((2, 3), keepdims=True), part + ".fc1"))
        y = jax.nn.hard_sigmoid(at.point(s, part + ".fc2")) * y
    y = conv_norm(at, y, next(parts), 1)
    return x + y if stride == 1 and outputs == x.shape[1] else y


def mobilenet_v3_large(at, sizes, x, y):
    x = jax.nn.hard_swish(conv_norm(at, x, "features.0", 3, 2))
    for i, row in enumerate(LARGE):
        x = inverted_residual(at, x, f"features.{i + 1}", row, sizes["width"])
    x = jax.nn.hard_swish(conv_norm(at, x, f"features.{len(LARGE) + 1}", 1))
    x = jax.nn.hard_swish(at.linear(x.mean((2, 3)), "classifier.0"))
    return cross_entropy(at.linear(at.dropout(x, 0.2), "classifier.3"), y)


def conv_bn(at, x, conv, norm, stride=1):
    padding = at.p[conv + ".weight"].shape[-1] // 2
    return at.batch_norm(at.conv(x, conv, stride, padding), norm)


def residual(at, x, name, stride):
    y = jax.nn.relu(conv_bn(at, x, name + ".conv1", name + ".bn1", stride))
    y = conv_bn(at, y, name + ".conv2", name + ".bn2")
    if name + ".downsample.0.weight" in at.p:
        x = conv_bn(at, x, name + ".downsample.0", name + ".downsample.1", stride)
    return jax.nn.relu(y + x)


def resnet18(at, sizes, x, y):
    is_small = sizes.get("small_stem", 0)
    x = jax.nn.relu(conv_bn(at, x, "conv1", "bn1", 1 if is_small else 2))
    if not is_small:
        pads = ((0, 0), (0, 0), (1, 1), (1, 1))
        x = lax.reduce_window(x, -jnp.inf, lax.max, (1, 1, 3, 3), (1, 1, 2, 2), pads)
    for stage in range(4):
        for i in range(2):
            stride = 2 if stage > 0 and i == 0 else 1
            x = residual(at, x, f"layer{stage + 1}.{i}", stride)
    return cross_entropy(at.linear(x.mean((2, 3)), "fc"), y)


def dcgan_discriminator(at, sizes, x, y):
    x = jax.nn.leaky_relu(at.conv(x, "main.0", 2, 1), 0.2)
    index = 2
    while f"main.{index + 1}.weight" in at.p:
        x = at.batch_norm(at.conv(x, f"main.{index}", 2, 1), f"main.{index + 1}")
        x = jax.nn.leaky_relu(x, 0.2)
        index += 3
    x = at.conv(x, f"main.{index}").reshape(-1).astype(jnp.float32)
    return -(y * jax.nn.log_sigmoid(x) + (1 - y) * jax.nn.log_sigmoid(-x)).mean()


def gelu(x):
    return jax.nn.gelu(x, approximate=False)


def closed(at, y, x, name):
    y = at.dropout(at.linear(y, name + ".dense"), 0.1)
    return at.layer_norm(y + x, name + ".LayerNorm", 1e-12)


def bert(at, sizes, tokens, types, mask, targets):
    words, name = at.p["bert.embeddings.word_embeddings.weight"], "bert.embeddings"
    x = words[tokens] + at.p[name + ".token_type_embeddings.weight"][types]
    x = x + at.p[name + ".position_embeddings.weight"][: tokens.shape[1]]
    x = at.dropout(at.layer_norm(x, name + ".LayerNorm", 1e-12), 0.1)
    for i in range(sizes["layers"]):
        name = f"bert.encoder.layer.{i}"
        parts = [at.linear(x, f"{name}.attention.self.{s}") for s in ("query", "key", "value")]
        y = attend(at, parts, sizes["heads"], mask[:, None, None, :] != 0)
        x = closed(at, y, x, name + ".attention.output")
        y = gelu(at.linear(x, name + ".intermediate.dense"))
        x = closed(at, y, x, name + ".output")
    name = "cls.predictions"
    x = gelu(at.linear(x, name + ".transform.dense"))
    x = at.layer_norm(x, name + ".transform.LayerNorm", 1e-12)
    return cross_entropy(x @ words.T + at.p[name + ".bias"], targets)


def conv1d(at, x, name):
    return x @ at.p[name + ".weight"] + at.p[name + ".bias"]


def gpt2(at, sizes, tokens, targets):
    words = at.p["transformer.wte.weight"]
    x = words[tokens] + at.p["transformer.wpe.weight"][: tokens.shape[1]]
    x = at.dropout(x, 0.1)
    for i in range(sizes.get("layers", 12)):
        name = f"transformer.h.{i}"
        y = conv1d(at, at.layer_norm(x, name + ".ln_1"), name + ".attn.c_attn")
        y = attend(at, jnp.split(y, 3, -1), sizes.get("heads", 12), past(x))
        x = x + at.dropout(conv1d(at, y, name + ".attn.c_proj"), 0.1)
        y = conv1d(at, at.layer_norm(x, name + ".ln_2"), name + ".mlp.c_fc")
        y = conv1d(at, jax.nn.gelu(y), name + ".mlp.c_proj")
        x = x + at.dropout(y, 0.1)
    return cross_entropy(at.layer_norm(x, "transformer.ln_f") @ words.T, targets)


MODELS = {
    "mlp": mlp, "lenet": lenet, "pointnet_cls": pointnet_cls, "transformer_lm": transformer_lm,
    "mobilenet_v3_large": mobilenet_v3_large, "resnet18": resnet18,
    "dcgan_discriminator": dcgan_discriminator, "bert": bert, "gpt2": gpt2,
}  # fmt: skip
