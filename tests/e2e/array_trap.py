"""An exported module as an array, each member against plain PyTorch.

Members have weights, batches and rates of their own.
"""

import copy

import torch
from array_case import members_file, perturbed
from braid_run import run_members, save
from exporting import export
from measure import Run, differences, train

STEPS = 5
RATES = [0.1, 0.03, 0.2]
F64 = torch.float64


class Trap:
    """A module, its file, and members k = 0, 1, 2 of it."""

    def __init__(self, folder, module, draw, rates=RATES):
        torch.manual_seed(3)
        self.folder, self.draw, self.rates = folder, draw, rates
        self.module = module().to(F64).train()
        self.file = folder / "module.pt2"
        export(self.module, draw(0), self.file)
        self.weights = [perturbed(self.module, k) for k in range(len(rates))]

    def entries(self):
        made = []
        for k, lr in enumerate(self.rates):
            init = save(self.folder / f"init{k}.safetensors", self.weights[k])
            inputs = save(self.folder / f"x{k}.safetensors", self.draw(k))
            made.append({"lr": lr, "seed": k, "init": str(init), "inputs": str(inputs)})
        return made

    def run(self, own=(), values=None, steps=STEPS, name="out", code=0):
        """Results by member; `own` are further keys of each."""
        entries = self.entries()
        for entry, more in zip(entries, own, strict=False):
            entry |= more
        return run_members(
            self.file, None, steps, "sgd", values or {}, self.folder / name,
            members=members_file(self.folder / f"{name}.yaml", entries), threads=1, code=code,
        )  # fmt: skip

    def eager(self, k, **options):
        module = copy.deepcopy(self.module)
        module.load_state_dict(self.weights[k])
        return train(
            module, self.draw(k), lambda p: torch.optim.SGD(p, self.rates[k]), STEPS, **options
        )

    def check(self, results, **options):
        for k, result in enumerate(results):
            compare(result, self.eager(k, **options), f"member {k}")


def compare(result, expected, what):
    got = Run(result.losses, result.grads, result.state)
    lines = differences(got, expected, [expected], 1e-9, 1e-9, 0.0)
    assert not lines, f"{what}:\n" + "\n".join(lines)


def drawn(k, **shapes):
    """Tensors of a batch of member k: a shape, or (shape, classes)."""
    generator = torch.Generator().manual_seed(50 + k)
    tensors = {}
    for name, shape in shapes.items():
        if isinstance(shape[0], tuple):
            tensors[name] = torch.randint(shape[1], shape[0], generator=generator)
        else:
            tensors[name] = torch.randn(shape, generator=generator, dtype=F64)
    return tensors
