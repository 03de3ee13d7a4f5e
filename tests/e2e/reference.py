"""PyTorch's side of an import test: the module, its file, its training.

A float64 model may hold float32 values inside (logits of transformers, RMS
norms). Its results are then good to float32 only, and the nudges that measure
its response are those of float32.
"""

import copy
import os
from functools import lru_cache

import pytest
import torch
from exporting import export
from measure import NUDGES, Run, nudged, nudged_runs, train
from modules import MODULES
from safetensors.torch import save_file

DTYPES = {"f64": torch.float64, "f32": torch.float32}
LIBRARIES = ("transformers", "timm", "torchvision")
LONG = bool(os.environ.get("BRAID_TEST_LONG"))


def chosen():
    """The names that run: all in the long form, else the quick ones."""
    return [name for name, case in MODULES.items() if LONG or case.quick]


def subjects(dtypes=tuple(DTYPES)):
    """Parameters of a fixture: every module that runs, in these types."""
    return [pytest.param((n, d), id=f"{n}-{d}") for n in chosen() for d in dtypes]


def optimizer(kind, lr):
    """Values of `--set`, and the same in PyTorch."""
    if kind == "sgd":
        values = {"lr": lr, "momentum": 0.9}
        return values, lambda p: torch.optim.SGD(p, **values)
    values = {"lr": lr, "beta1": 0.9, "beta2": 0.999, "weight_decay": 0.05}
    return values, lambda p: torch.optim.AdamW(p, lr=lr, weight_decay=0.05)


def build(name, dtype, table=MODULES):
    """The module and its batch; skips where its library is missing."""
    try:
        return table[name].module(dtype), table[name].tensors(dtype)
    except ModuleNotFoundError as error:
        if error.name not in LIBRARIES:
            raise
        pytest.skip(f"no {error.name}: pip install -r tests/e2e/requirements.txt")


def floats_of(node):
    """The types of a node's floating-point values."""
    values = torch.utils._pytree.tree_leaves(node.meta.get("val"))
    return [v.dtype for v in values if isinstance(v, torch.Tensor) and v.is_floating_point()]


def reached_by_data(program):
    """Nodes that a floating-point parameter, buffer or input leads to.

    Whole numbers end the way: places and counts have no rounding, whatever
    type they are counted in later.
    """
    reached = set()
    for node in program.graph.nodes:
        begins = node.op == "placeholder"
        leads = begins or any(source in reached for source in node.all_input_nodes)
        if leads and floats_of(node):
            reached.add(node)
    return reached


def coarsest(program, dtype):
    """The least precise type that a result goes through."""
    found = dtype
    for node in reached_by_data(program):
        found = max(found, *floats_of(node), key=lambda t: torch.finfo(t).eps)
    return found


def first_names(module):
    """Every name of a parameter -> its first name; tied ones have several."""
    named = list(module.named_parameters(remove_duplicate=False))
    first = {}
    for name, parameter in named:
        first.setdefault(id(parameter), name)
    return {name: first[id(parameter)] for name, parameter in named}


def eval_loss(module, inputs):
    with torch.no_grad():
        return copy.deepcopy(module).eval()(**inputs).double().item()


class Subject:
    """One module in one type with its files; runs are made when asked for."""

    def __init__(self, name, dtype, folder):
        self.name, self.case, self.dtype = name, MODULES[name], DTYPES[dtype]
        self.module, self.inputs = build(name, self.dtype)
        self.file, self.inputs_file = folder / "module.pt2", folder / "inputs.safetensors"
        self.program = export(self.module, self.inputs, self.file).program
        save_file(self.inputs, self.inputs_file)
        self.nudge_dtype = coarsest(self.program, self.dtype)
        self.expected = lru_cache(maxsize=None)(self._expected)

    def _expected(self, kind, lr, steps):
        """Eager training, and the same from nudged weights and inputs."""
        args = (self.inputs, optimizer(kind, lr)[1], steps)
        run = train(copy.deepcopy(self.module), *args)
        return run, nudged_runs(self.module, *args, like=self.nudge_dtype)

    def eval_losses(self):
        """The loss in eval mode, and the same after nudges."""
        nudges = []
        for seed in range(NUDGES):
            generator = torch.Generator().manual_seed(seed)
            module = copy.deepcopy(self.module)
            with torch.no_grad():
                for parameter in module.parameters():
                    parameter.copy_(nudged(parameter, generator, self.nudge_dtype))
            inputs = {n: nudged(t, generator, self.nudge_dtype) for n, t in self.inputs.items()}
            nudges.append(eval_loss(module, inputs))
        return eval_loss(self.module, self.inputs), nudges

    def as_run(self, result, expected):
        """What Braid wrote, its gradients under first names.

        Tied parameters may stand under any of their names or all; a parameter
        that PyTorch gives no gradient may be left out or be zero.
        """
        first, grads = first_names(self.module), {}
        for name, grad in result.grads.items():
            name = first.get(name, name)
            assert name not in grads or torch.equal(grads[name], grad), f"{name}: two gradients"
            if name in expected.grads or bool(grad.any()):
                grads[name] = grad
        return Run(result.losses, grads, result.state)
