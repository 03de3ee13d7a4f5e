"""What lets more modules through torch.export, and keeps it quiet."""

import contextlib
import inspect
import logging
import warnings

import torch
from torch.distributions import Distribution
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_map
from torch.utils.checkpoint import CheckpointFunction


def layerdrop_containers(module):
    """Names of submodules that skip layers at random."""

    def rate(part):
        own = getattr(part, "layerdrop", None)
        config = getattr(part, "config", None)
        return own if own is not None else getattr(config, "layerdrop", None)

    def has_layers(part):
        return any(isinstance(child, torch.nn.ModuleList) for child in part.children())

    return [n or type(module).__name__ for n, part in module.named_modules()
            if isinstance(rate(part), (int, float)) and has_layers(part)]  # fmt: skip


class NoLayerDrop(TorchFunctionMode):
    """The number drawn to skip a layer is 1, which skips none.

    Setting .training to False on the containers would do as well, but also
    switch off the dropout that they apply themselves.
    """

    def __torch_function__(self, function, types_, args=(), kwargs=None):
        if function is torch.rand and len(args) == 1 and args[0] in ([], ()) and not kwargs:
            return 1.0
        return function(*args, **(kwargs or {}))


@contextlib.contextmanager
def plain_checkpoints():
    """Checkpointed parts run as they are: the file has no use for checkpoints.

    The reentrant kind would be exported as a block without gradients.
    """
    before = CheckpointFunction.apply
    CheckpointFunction.apply = staticmethod(lambda function, _, *args: function(*args))
    try:
        yield
    finally:
        CheckpointFunction.apply = before


@contextlib.contextmanager
def workarounds(module, notes):
    """What lets torch.export through; undone on leaving."""
    before = Distribution._validate_args
    Distribution.set_default_validate_args(False)
    containers = layerdrop_containers(module)
    try:
        with plain_checkpoints(), NoLayerDrop() if containers else contextlib.nullcontext():
            yield
    finally:
        Distribution.set_default_validate_args(before)
    if containers:
        notes.append(f"LayerDrop is left out: {', '.join(containers)}")


@contextlib.contextmanager
def replaced_forward(module, function, names):
    """forward is `function` meanwhile; parameter names stay as they are.

    Its signature lists the inputs: torch.export fails on dynamic sizes of
    what comes through **kwargs.
    """
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD

    def forward(**inputs):
        return function(**inputs)

    forward.__signature__ = inspect.Signature([inspect.Parameter(n, kind) for n in names])
    module.forward = forward
    try:
        yield
    finally:
        del module.forward


def cloned(inputs):
    """Copies of all tensors in dicts and lists."""
    return tree_map(lambda tensor: tensor.clone(), inputs)


@contextlib.contextmanager
def quiet():
    """torch.export logs whole graphs before it raises; the error is enough."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            yield
        finally:
            logging.disable(before)
