"""The gradients of an export against those of the module itself."""

import contextlib

import torch

from .error import ExportError
from .workarounds import cloned, quiet

LIMITS = {torch.float64: 1e-9, torch.float32: 1e-4}


def scalar_of(result):
    """A number to differentiate, whatever the module returns."""
    leaves = torch.utils._pytree.tree_leaves(result)
    floats = [t for t in leaves if isinstance(t, torch.Tensor) and t.is_floating_point()]
    if not floats:
        raise ExportError("--check-gradients: the module returns no floating-point tensor")
    if len(floats) == 1 and floats[0].dim() == 0:
        return floats[0]
    return sum((t * torch.linspace(0.5, 1.5, t.numel()).to(t).view_as(t)).sum() for t in floats)


def gradients(module, parameters, inputs):
    """Loss and gradients by name; leaves the parameters as they were."""
    for parameter in parameters.values():
        parameter.grad = None
    torch.manual_seed(0)
    loss = scalar_of(module(**inputs))
    if not loss.requires_grad:
        return loss.detach(), {}
    loss.backward()
    found = {n: p.grad.clone() for n, p in parameters.items() if p.grad is not None}
    for parameter in parameters.values():
        parameter.grad = None
    return loss.detach(), found


@contextlib.contextmanager
def kept(*tables):
    """Tensors in these tables have their values of before on leaving."""
    tensors = [t for table in tables for t in table.values() if isinstance(t, torch.Tensor)]
    before = [tensor.detach().clone() for tensor in tensors]
    try:
        yield
    finally:
        with torch.no_grad():
            for tensor, value in zip(tensors, before, strict=True):
                tensor.copy_(value)


def with_tied_summed(module, found):
    """By first name: a loaded file may have untied what the module ties."""
    first, summed = {}, {}
    for name, parameter in module.named_parameters(remove_duplicate=False):
        name_of = first.setdefault(id(parameter), name)
        if name in found:
            summed[name_of] = summed[name_of] + found[name] if name_of in summed else found[name]
    return summed


def gradient_differences(module, program, inputs):
    """Lines about each gradient of the exported program that is not eager's."""
    inputs = cloned(inputs)
    with quiet(), kept(program.state_dict, program.constants):
        there = program.module()
        got_loss, got = gradients(there, dict(there.named_parameters()), inputs)
    with kept(dict(module.named_buffers())):
        loss, expected = gradients(module, dict(module.named_parameters()), inputs)
    got = with_tied_summed(module, got)
    lines = compare("loss", got_loss, loss)
    for name in sorted(expected.keys() | got.keys()):
        if name not in got:
            lines.append(f"{name}: no gradient in the export")
        elif name not in expected:
            lines.append(f"{name}: a gradient in the export only")
        else:
            lines += compare(name, got[name], expected[name])
    return lines


def compare(name, got, want):
    limit = LIMITS.get(want.dtype, 2e-2)
    scale = max(float(want.abs().max()), 1e-30) if want.numel() else 1.0
    far = float((got - want).abs().max()) / scale if want.numel() else 0.0
    return [] if far <= limit else [f"{name}: differs by {far:.2g} of its scale"]


def require_same_gradients(module, program, inputs):
    lines = gradient_differences(module, program, inputs)
    if not lines:
        return
    shown = "\n  ".join(lines[:10] + ([f"... {len(lines) - 10} more"] if len(lines) > 10 else []))
    raise ExportError(
        f"the export does not have the gradients of the module:\n  {shown}\n"
        "HINT: a torch.autograd.Function loses its backward in torch.export; write it with\n"
        "      torch functions, straight-through as x + (f(x) - x).detach()"
    )
