"""A module of the corpus: how to make it, and what it is given.

The table of all of them is MODULES in __init__.py. `@case` adds a function
that makes a module whose forward(inputs) gives the loss; the inputs are
written as in scripts/export_model.py, "float" being the type of the test.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import torch
from export_model import parse_input


@dataclass
class Case:
    """make() gives the module; inputs by name as text.

    quick: runs by default, the others only in the long form of the tests.
    eval_form: False where train() and eval() differ by more than dropout and
    batch statistics, which a file exported in train mode cannot know.
    lr: factor on the learning rates of the tests, for those that diverge.
    """

    make: Callable
    inputs: dict = field(default_factory=dict)
    quick: bool = False
    eval_form: bool = True
    lr: float = 1.0

    def module(self, dtype):
        """In train mode; its buffers have seen a batch, so none is as made."""
        torch.manual_seed(0)
        module = self.make().to(dtype).train()
        with torch.no_grad():
            module(**self.tensors(dtype, seed=2))
        return module

    def tensors(self, dtype, seed=1):
        generator = torch.Generator().manual_seed(seed)
        texts = [f"{name}:{text}" for name, text in self.inputs.items()]
        return dict(parse_input(text, dtype, generator) for text in texts)


def table():
    """An empty table and the decorator that fills it."""
    cases = {}

    def case(quick=False, eval_form=True, lr=1.0, **inputs):
        def add(make):
            cases[make.__name__] = Case(make, inputs, quick, eval_form, lr)
            return make

        return add

    return cases, case
