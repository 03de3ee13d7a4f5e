"""JAX for bench/arrays_cpu.py: jit(vmap(step)) over all members, with Adam
written out and the state donated.

    _jax_server.py WORKLOAD MEMBERS
"""

import sys

import jax
import jax.numpy as jnp
from _serve import serve
from _workloads import WORKLOADS

# The generator that is fast on CPUs; threefry would make dropout slow.
jax.config.update("jax_default_prng_impl", "rbg")


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


def step_of(workload):
    from _jax_models import MODELS, Layers

    def loss(p, b, key, *batch):
        at = Layers(p, b, key)
        return MODELS[workload.model](at, workload.sizes, *batch), at.b

    def step(state, *batch):
        p, m, v, b, t, key = state
        key, used = jax.random.split(key)
        (value, b), g = jax.value_and_grad(loss, has_aux=True)(p, b, used, *batch)
        p, m, v = adam(p, m, v, g, t + 1)
        return (p, m, v, b, t + 1, key), value

    return step


def all_members(workload, members):
    states = [first_state(workload, seed) for seed in range(members)]
    state = jax.tree.map(lambda *leaves: jnp.stack(leaves), *states)
    batch = [jnp.asarray(t.numpy()) for t in workload.batches(members)]
    compiled = jax.jit(jax.vmap(step_of(workload)), donate_argnums=0)

    def run(count):
        nonlocal state
        for _ in range(count):
            state, losses = compiled(state, *batch)
        jax.block_until_ready((state, losses))

    return run


def main():
    workload, members = WORKLOADS[sys.argv[1]], int(sys.argv[2])
    serve(lambda: all_members(workload, members))


if __name__ == "__main__":
    main()
