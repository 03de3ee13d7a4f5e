"""From a module to a torch.export program and its file."""

import re
from dataclasses import dataclass, field

import torch
from torch.fx.experimental.symbolic_shapes import free_unbacked_symbols
from torch.utils._pytree import tree_map

from . import initialisers
from .error import ExportError
from .gradients import kept, require_same_gradients
from .loss import with_loss
from .refusal import refusal
from .workarounds import cloned, quiet, replaced_forward, workarounds


@dataclass
class Exported:
    """The program, and in words what was changed on the way to it."""

    program: torch.export.ExportedProgram
    notes: list = field(default_factory=list)


def export(module, inputs, path=None, *, dynamic=(), loss=None, target=None, output=None,
           check_gradients=False, make=None):  # fmt: skip
    """Exports `module` in train mode and, with a path, saves it.

    A module already in train mode keeps the parts that are in eval mode.

    inputs: tensors, or dicts and lists of them, by argument name of forward.
    dynamic: dimensions whose size may change. loss, target, output: a function
    of torch.nn.functional of the module's output and that input.
    check_gradients: compares with eager.
    make: builds another such module by torch's present seed; what it draws is
    recorded, so that training with other seeds draws weights of its own.
    The module itself is left as it was. Raises ExportError.
    """
    if target is not None and target not in inputs:
        raise ExportError(f"--target {target} is none of the inputs: {', '.join(inputs)}")
    notes, modes = [], {part: part.training for part in module.modules()}
    if not module.training:
        module.train()
    forward = with_loss(module.forward, loss, target, output) if loss else module.forward
    try:
        with replaced_forward(module, forward, inputs), workarounds(module, notes):
            program = exported_program(module, inputs, dynamic, notes)
            if check_gradients:
                require_same_gradients(module, program, inputs)
    finally:
        for part, training in modes.items():
            part.training = training
    notes += data_sized(program)
    if path is not None:
        extra = {} if make is None else {initialisers.FILE_NAME: initialisers.record(module, make)}
        with quiet():
            torch.export.save(program, str(path), extra_files=extra)
    return Exported(program, notes)


def exported_program(module, inputs, dynamic, notes):
    bounds = {}
    while True:
        shapes = dynamic_shapes(inputs, dynamic, bounds)
        try:
            with quiet():
                program = torch.export.export(
                    module, (), kwargs=cloned(inputs), dynamic_shapes=shapes, strict=False
                )
            notes += bound_notes(bounds)
            return program
        except ExportError:
            raise
        except Exception as error:
            narrower = bounds | bounds_in(error)
            if narrower == bounds:
                raise refusal(error, failure_of(module, inputs)) from error
            bounds = narrower


def bounds_in(error):
    """Ranges of sizes that torch.export suggests, {name: {"max": 63}}: forward asks
    whether a size is larger, and the export holds for one of the answers."""
    lines = re.findall(r"^ +(dim\w+) = Dim\('\w+', ([\w=, ]+)\)$", str(error), re.MULTILINE)
    return {
        name: {key: int(value) for key, _, value in (p.partition("=") for p in text.split(", "))}
        for name, text in lines
    }


def bound_notes(bounds):
    for name, pair in bounds.items():
        _, dim, size = name.split("_")
        for key, value in pair.items():
            bound = f"{value} at {'least' if key == 'min' else 'most'}"
            yield (
                f"dimension {dim}, here {size}, may be {bound}: forward does something else "
                "with other sizes"
            )


def failure_of(module, inputs):
    """The error of the module itself with these inputs, if it has one."""
    try:
        with quiet(), torch.no_grad(), kept(dict(module.named_buffers())):
            module(**cloned(inputs))
    except Exception as error:
        return error
    return None


def dynamic_shapes(inputs, dynamic, bounds):
    """Which sizes may change: `dynamic` lists dimensions of every input.

    Sizes that are equal in the example stay equal, as the batch does. A size of 1,
    which torch.export takes for fixed, stays 1. bounds: {name: {"max": 63}} of those
    that may not be any size.
    """
    if not dynamic:
        return None
    named = {}

    def of(size, dim):
        if size == 1:
            return None
        name = f"dim_{dim}_{size}"
        return named.setdefault(name, torch.export.Dim(name, **bounds.get(name, {})))

    shapes = tree_map(lambda t: {d: of(t.shape[d], d) for d in dynamic if d < t.dim()}, inputs)
    if not named:
        raise ExportError(
            "the sizes asked to be dynamic are 1 in the example, which torch.export takes "
            "for fixed\nHINT: give an example of 2 or more"
        )
    return shapes


def data_sized(program):
    """Lines about results whose size only the data tell: Braid has none such."""
    lines = []
    for node in program.graph.nodes:
        value = node.meta.get("val")
        if isinstance(value, torch.Tensor) and free_unbacked_symbols(value):
            where = (node.meta.get("stack_trace") or "").strip().splitlines()[-2:]
            place = " ".join(line.strip() for line in where)
            lines.append(f"the size of {node.name} depends on data: {place}")
    return lines[:1]
