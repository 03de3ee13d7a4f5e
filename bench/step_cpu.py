"""One training step on the CPU: Braid, PyTorch eager (fused AdamW), JAX jit (and
vmap for the array).

All three run in one process tree and take turns, so that noise of the machine
falls on all of them. Printed: the median over rounds of the time per step, and
the median of the paired ratios with the interval that holds 90 % of them.
Peak bytes of Braid and PyTorch come from the same counting allocator.

    make bench            or  scripts/bench.sh step_cpu
"""

import ctypes
import os
import platform
import statistics
import subprocess
import sys
import time
from pathlib import Path

import torch
import torch.nn as nn
import torch.nn.functional as F

ROOT = Path(__file__).resolve().parent.parent
BUILD = Path(os.environ.get("BRAID_BUILD", ROOT / "build"))
sys.path.insert(0, str(ROOT / "tests"))

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import models  # noqa: E402


class BraidStep:
    """A step_server process; run(n) gives the seconds of n steps."""

    def __init__(self, model, threads, members=0):
        self.process = subprocess.Popen(
            [BUILD / "bench" / "step_server", model, "adamw", str(threads), str(members)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().split()

    def run(self, count):
        return float(self.ask(str(count))[0])

    def peak_bytes(self):
        return int(self.ask("peak")[1])


class TorchStep:
    """Eager PyTorch with fused AdamW."""

    def __init__(self, module, inputs):
        self.module, self.inputs = module, inputs
        self.optimizer = torch.optim.AdamW(module.parameters(), fused=True)

    def step(self):
        self.optimizer.zero_grad(set_to_none=True)
        self.module(*self.inputs).backward()
        self.optimizer.step()

    def run(self, count):
        start = time.perf_counter()
        for _ in range(count):
            self.step()
        return time.perf_counter() - start


class JaxStep:
    """A jitted step with AdamW written out; state is donated."""

    def __init__(self, loss, parameters, inputs):
        m, v = (jax.tree.map(jnp.zeros_like, parameters) for _ in range(2))
        self.state = (parameters, m, v, jnp.zeros((), jnp.float32))
        self.inputs = inputs

        def step(state, *batch):
            p, m, v, t = state
            t = t + 1
            g = jax.grad(loss)(p, *batch)
            m = jax.tree.map(lambda a, b: a + (b - a) * 0.1, m, g)
            v = jax.tree.map(lambda a, b: a * 0.999 + b * b * 0.001, v, g)

            def update(x, a, b):
                rate = 1e-3 / (1 - 0.9**t)
                root = jnp.sqrt(b) / jnp.sqrt(1 - 0.999**t) + 1e-8
                return x * (1 - 1e-5) - rate * a / root

            return jax.tree.map(update, p, m, v), m, v, t

        self.compiled = jax.jit(step, donate_argnums=0)

    def run(self, count):
        start = time.perf_counter()
        for _ in range(count):
            self.state = self.compiled(self.state, *self.inputs)
        jax.block_until_ready(self.state)
        return time.perf_counter() - start


class Mlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(16, 32), nn.ReLU(),
                                    nn.Linear(32, 32), nn.ReLU(),
                                    nn.Linear(32, 4))

    def forward(self, x, y):
        return F.cross_entropy(self.layers(x), y)


def jax_mlp(members=0):
    sizes = [(16, 32), (32, 32), (32, 4)]
    keys = jax.random.split(jax.random.key(0), len(sizes))
    parameters = [(jax.random.normal(k, s) * 0.2, jnp.zeros(s[1]))
                  for k, s in zip(keys, sizes, strict=True)]

    def loss(p, x, y):
        for i, (w, b) in enumerate(p):
            x = x @ w + b
            if i + 1 < len(p):
                x = jax.nn.relu(x)
        rows = jax.nn.log_softmax(x)
        return -jnp.mean(jnp.take_along_axis(rows, y[:, None], 1))

    inputs = jnp.ones((16, 16)) * 0.1, jnp.zeros(16, jnp.int32)
    if members == 0:
        return JaxStep(loss, parameters, inputs)
    parameters, inputs = jax.tree.map(lambda a: jnp.stack([a] * members), (parameters, inputs))
    return JaxStep(lambda p, x, y: jnp.sum(jax.vmap(loss)(p, x, y)), parameters, inputs)


def mlp_case():
    x = torch.rand(16, 16) - 0.5
    y = torch.arange(16) % 2
    return {"braid": BraidStep("mlp", 1), "eager": TorchStep(Mlp(), (x, y)),
            "jax": jax_mlp()}


def array_case(members):
    return {"braid": BraidStep("mlp", 1, members), "jax": jax_mlp(members)}


def transformer_case(threads):
    module = models.make("transformer", vocab=512, width=256, heads=4,
                         layers=4, length=64)
    tokens = torch.arange(8 * 64).reshape(8, 64) % 2
    name = "transformer(layers=4,width=256,length=64,vocab=512,batch=8)"
    return {"braid": BraidStep(name, threads),
            "eager": TorchStep(module, (tokens, tokens))}


def steps_for(engine, seconds):
    """As many steps as take about that long; warms the engine up."""
    count = 2
    while (took := engine.run(count)) < seconds / 2:
        count *= 2
    return max(2, round(count * seconds / took))


def measure(title, case, seconds, rounds, members=1):
    """Turns of equal length: noise of the machine falls on all engines alike."""
    times = {name: [] for name in case}
    steps = {name: steps_for(engine, seconds) for name, engine in case.items()}
    for _ in range(rounds):
        for name, engine in case.items():
            times[name].append(engine.run(steps[name]) / steps[name] / members)
    print(f"{title}: {rounds} rounds of {seconds} s each")
    unit = "us/step" if members == 1 else "us/step of a member"
    for name, values in times.items():
        print(f"  {name:6} {statistics.median(values) * 1e6:12.1f} {unit}")
    for name in times:
        if name != "braid":
            pairs = zip(times[name], times["braid"], strict=True)
            print_ratio(name, [other / own for other, own in pairs])


def print_ratio(name, ratios):
    ratios.sort()
    low, high = ratios[len(ratios) // 20], ratios[-1 - len(ratios) // 20]
    print(f"  {name} / braid: {statistics.median(ratios):.2f} "
          f"[{low:.2f}, {high:.2f}]")


def print_peak(case):
    library = ctypes.CDLL(str(BUILD / "bench" / "libcounting.so"))
    library.peak_bytes.restype = library.used_bytes.restype = ctypes.c_longlong
    library.install()
    # What was made before counting is parameters, gradients and moments.
    engine = case["eager"]
    made = [p for p in engine.module.parameters()]
    before = sum(p.nbytes for p in made)
    for state in engine.optimizer.state.values():
        before += sum(t.nbytes for t in state.values()
                      if torch.is_tensor(t))
    before += sum(t.nbytes for t in engine.inputs)
    engine.optimizer.zero_grad(set_to_none=True)
    library.reset_peak()
    start = library.used_bytes()
    for _ in range(3):
        engine.step()
    eager = before + library.peak_bytes() - start
    own = case["braid"].peak_bytes()
    print(f"  peak bytes: braid {own}, eager {eager} "
          f"({own / eager:.2f} of eager's)")


def main():
    quick = "--quick" in sys.argv
    rounds = 5 if quick else 31
    threads = os.cpu_count()
    print(f"{platform.processor() or platform.machine()}, {threads} cores, "
          f"torch {torch.__version__}, jax {jax.__version__}, "
          f"load of the machine before: {os.getloadavg()[0]:.1f}")
    torch.set_num_threads(1)
    case = mlp_case()
    measure("tiny MLP 16-32-32-4, batch 16, 1 thread", case, 0.1, rounds)
    print_peak(case)
    measure("the same, array of 64, Braid on 1 thread", array_case(64), 0.1, rounds, members=64)
    torch.set_num_threads(threads)
    case = transformer_case(threads)
    measure(f"Transformer, 4 layers of 256, {threads} threads", case, 0.4, rounds)
    print_peak(case)


if __name__ == "__main__":
    main()
