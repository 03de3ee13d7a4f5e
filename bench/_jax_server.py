"""JAX for bench/arrays_cpu.py and bench/gpu.py: jit(vmap(step)) over all members, with
Adam written out and the state donated.

    _jax_server.py WORKLOAD MEMBERS [PRECISION [DEVICE]]

PRECISION is that of the work, f32 or bf16; parameters and Adam are f32. With DEVICE, "cuda"
or "cpu", it says "loaded" before it compiles and waits for a line, and all members have the
same parameters, which are quick to make.
"""

import sys

import jax
import jax.numpy as jnp
from _serve import serve, wait_for_turn

# The generator that is fast; threefry would make dropout slow.
jax.config.update("jax_default_prng_impl", "rbg")

PRECISIONS = {"f32": jnp.float32, "bf16": jnp.bfloat16}


def first_state(workload, seed):
    """Parameters and buffers of one member, from its PyTorch twin."""
    module = workload.module(seed)
    parameters = {k: jnp.asarray(v.detach().numpy()) for k, v in module.named_parameters()}
    buffers = {k: jnp.asarray(v.numpy()) for k, v in module.named_buffers() if v.ndim > 0}
    zeros = {k: jnp.zeros_like(v) for k, v in parameters.items()}
    return parameters, zeros, zeros, buffers, jnp.zeros(()), jax.random.key(seed)


def adam(p, m, v, g, t):
    m = jax.tree.map(lambda a, b: a + (b - a) * 0.1, m, g)
    v = jax.tree.map(lambda a, b: a * 0.999 + b * b * 0.001, v, g)
    rate, root = 1e-3 / (1 - 0.9**t), jnp.sqrt(1 - 0.999**t)
    p = jax.tree.map(lambda x, a, b: x - rate * a / (jnp.sqrt(b) / root + 1e-8), p, m, v)
    return p, m, v


def lowered(tree, dtype):
    """The same with floats of that kind."""
    return jax.tree.map(
        lambda x: x.astype(dtype) if jnp.issubdtype(x.dtype, jnp.floating) else x, tree)


def step_of(workload, dtype):
    from _jax_models import MODELS, Layers

    def loss(p, b, key, *batch):
        at = Layers(lowered(p, dtype), b, key)
        return MODELS[workload.model](at, workload.sizes, *lowered(batch, dtype)), at.b

    def step(state, *batch):
        p, m, v, b, t, key = state
        key, used = jax.random.split(key)
        (value, b), g = jax.value_and_grad(loss, has_aux=True)(p, b, used, *batch)
        p, m, v = adam(p, m, v, g, t + 1)
        return (p, m, v, b, t + 1, key), value

    return step


def states_of(workload, members, same):
    """Of all members: [B, ...]."""
    states = [first_state(workload, seed) for seed in range(1 if same else members)]
    stacked = jax.tree.map(lambda *leaves: jnp.stack(leaves), *states)
    return jax.tree.map(lambda x: jnp.repeat(x, members, axis=0), stacked) if same else stacked


def all_members(name, members, dtype, device):
    if device == "cuda" and jax.default_backend() != "gpu":
        raise RuntimeError("JAX finds no GPU")
    from _workloads import find_workload  # torch, whose CUDA libraries come after JAX's

    workload = find_workload(name)
    batch = [jnp.asarray(t.numpy()) for t in workload.batches(members)]
    if device:
        wait_for_turn()
    state = states_of(workload, members, same=device is not None)
    compiled = jax.jit(jax.vmap(step_of(workload, dtype)), donate_argnums=0)

    def run(count):
        nonlocal state
        for _ in range(count):
            state, losses = compiled(state, *batch)
        jax.block_until_ready((state, losses))

    return run


def peak_bytes():
    return (jax.devices()[0].memory_stats() or {}).get("peak_bytes_in_use", 0)


def main():
    name, members, *rest = sys.argv[1:]
    precision, device = [*rest, *["f32", None][len(rest):]]
    dtype = PRECISIONS[precision]
    serve(lambda: all_members(name, int(members), dtype, device),
          {"memory": peak_bytes})


if __name__ == "__main__":
    main()
