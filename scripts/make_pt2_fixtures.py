"""Writes the small .pt2 files that the tests of the reader use.

    make_pt2_fixtures.py [FOLDER]      default: tests/io/fixtures

Run it once per version of torch: the version is part of the names, such as
tied_213.pt2. The files hold no paths of the machine that wrote them.
"""

import re
import sys
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn

ROOT = Path(__file__).resolve().parent.parent


class Tied(nn.Module):
    """Tied weights, a buffer outside the state dict, a constant, no_grad."""

    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(5, 4)
        self.head = nn.Linear(4, 5)
        self.head.weight = self.emb.weight
        self.register_buffer("pos", torch.arange(3), persistent=False)

    def forward(self, x, y):
        h = self.emb(x) + self.pos[None, :, None].float()
        with torch.no_grad():
            mean = h.mean(-1, keepdim=True)
        h = (h - mean) * torch.tensor([1.0, 2.0, 3.0, 4.0])
        return F.cross_entropy(self.head(h).flatten(0, 1), y.flatten())


class Dynamic(nn.Module):
    """A free batch size, constant arguments, infinity as an argument."""

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleDict({"fc": nn.Sequential(nn.Linear(4, 4))})

    def forward(self, x, scale=3, flag=None):
        size = x.size(0)
        h = self.layers["fc"](x).view(size * 2, 2)
        h = self.layers["fc"](h.view(-1, 4))
        parts = torch.cat([h, x]).split(2, 1)
        return parts[0].sum() * scale, h.clamp(max=float("inf"))


class Types(nn.Module):
    """A stored tensor of each type, one without elements."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(2, 2, dtype=torch.bfloat16))
        self.frozen = nn.Parameter(torch.ones(2, dtype=torch.float64), requires_grad=False)
        values = {
            "u8": torch.tensor([1, 2], dtype=torch.uint8),
            "i32": torch.tensor([-1, 2], dtype=torch.int32),
            "i64": torch.tensor(7),
            "mask": torch.tensor([True, False]),
            "f16": torch.tensor([0.5, 2.0], dtype=torch.float16),
            "c64": torch.tensor([1 + 2j, 3 - 1j]),
            "u16": torch.tensor([65535, 2], dtype=torch.uint16),
            "empty": torch.empty(0, 3),
        }
        for name, value in values.items():
            self.register_buffer(name, value)

    def forward(self, x):
        y = (x.to(torch.bfloat16) @ self.weight).float() + self.frozen
        y = torch.where(self.mask, y, y + self.i32 + self.u8 + self.i64)
        z = y * self.c64 + self.f16 * (1 + 2j)
        return z.real.sum() + self.empty.sum() + self.u16.to(torch.int32).sum()


class Strided(nn.Module):
    """Weights that are views: transposed, and two parts of one storage."""

    def __init__(self):
        super().__init__()
        self.transposed = nn.Parameter(torch.arange(6.0).view(3, 2).t())
        storage = torch.arange(8.0)
        self.left = nn.Parameter(storage[:4])
        self.right = nn.Parameter(storage[4:].view(2, 2).t())

    def forward(self, x):
        return (x @ self.transposed).sum() + self.left.sum() + (self.right * 2).sum()


class Mutation(nn.Module):
    """Writes to a buffer and to an input; BatchNorm in training."""

    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(2)
        self.register_buffer("count", torch.zeros(()))

    def forward(self, x, state):
        self.count.add_(1)
        state.add_(x.mean())
        return self.norm(x).sum() * self.count, state


class Branch(nn.Module):
    """Control flow that depends on data: graphs inside the graph."""

    def forward(self, x):
        def double(v):
            return torch.cond(v.sum() > 9, lambda u: u * 4, lambda u: u * 2, (v,))

        return torch.cond(x.sum() > 0, double, lambda v: v.sin(), (x,))


def export_all():
    """(name, exported program) of every fixture."""
    torch.manual_seed(1)
    index = torch.tensor([[0, 1, 2], [3, 4, 0]])
    yield "tied", torch.export.export(Tied(), (index, index))
    batch = {0: torch.export.Dim("batch", min=2, max=64)}
    yield (
        "dynamic",
        torch.export.export(
            Dynamic(), (torch.ones(6, 4), 3, None), dynamic_shapes=(batch, None, None)
        ),
    )
    yield "types", torch.export.export(Types(), (torch.ones(2, 2),))
    yield "strided", torch.export.export(Strided(), (torch.ones(4, 2),))
    mutation = torch.export.export(Mutation(), (torch.ones(3, 2), torch.zeros(2)))
    yield "mutation", mutation.run_decompositions({})
    yield "branch", torch.export.export(Branch(), (torch.ones(2),))


def short_path(match):
    """File names as they are below site-packages or beside this script."""
    path = Path(match[1])
    parts = path.parts
    if "site-packages" in parts:
        return f'File "{"/".join(parts[parts.index("site-packages") :])}"'
    return f'File "{path.name}"'


def hide_paths(program):
    """Shortens the paths in the stack traces of all nodes."""
    for module in program.graph_module.modules():
        for node in module.graph.nodes if isinstance(module, torch.fx.GraphModule) else ():
            node.meta.pop("from_node", None)
            if trace := node.meta.get("stack_trace"):
                node.meta["stack_trace"] = re.sub(r'File "([^"]*)"', short_path, trace)


def main():
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "tests/io/fixtures"
    folder.mkdir(parents=True, exist_ok=True)
    version = "".join(torch.__version__.split(".")[:2])
    for name, program in export_all():
        hide_paths(program)
        path = folder / f"{name}_{version}.pt2"
        torch.export.save(program, str(path))
        print(path, path.stat().st_size)


if __name__ == "__main__":
    main()
