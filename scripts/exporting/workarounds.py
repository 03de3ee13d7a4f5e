"""What lets more modules through torch.export, and keeps it quiet."""

import contextlib
import inspect
import io
import logging
import warnings

import torch
from torch._subclasses.fake_tensor import FakeTensor
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


def drawn_paths(module):
    """Layers of stochastic depth that round uniform numbers, as transformers has them."""
    for part in module.modules():
        if isinstance(getattr(part, "drop_prob", None), float) and part.drop_prob > 0:
            source = inspect.getsource(type(part).forward)
            if "torch.rand(" in source and "floor" in source:
                yield part


@contextlib.contextmanager
def coin_paths(module):
    """The same with coins, whose rate the file then knows."""

    def of(part):
        def forward(x):
            if not part.training:
                return x
            keep = 1 - part.drop_prob
            coins = x.new_empty((x.shape[0],) + (1,) * (x.ndim - 1)).bernoulli_(keep)
            return x.div(keep) * coins

        return forward

    parts = list(drawn_paths(module))
    for part in parts:
        part.forward = of(part)
    try:
        yield
    finally:
        for part in parts:
            del part.forward


@contextlib.contextmanager
def no_caches(module, notes):
    """Language models of transformers give their cache, which torch.export refuses."""
    configs = {id(c): c for c in (getattr(part, "config", None) for part in module.modules())}
    cached = [c for c in configs.values() if getattr(c, "use_cache", None) is True]
    for config in cached:
        config.use_cache = False
    try:
        yield
    finally:
        for config in cached:
            config.use_cache = True
    if cached:
        notes.append("no cache of keys and values: use_cache is off")


class NotedRanges(TorchFunctionMode):
    """Keeps what torch.arange gives for plain numbers, and these numbers."""

    def __init__(self):
        super().__init__()
        self.noted = []

    def __torch_function__(self, function, types_, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        plain = function is torch.arange and all(type(arg) is int for arg in args)
        if plain and result.dtype == torch.int64 and "out" not in (kwargs or {}):
            self.noted.append((result, range(*args)))
        return result


@contextlib.contextmanager
def plain_ranges():
    """torch.arange(2, 4).tolist() is [2, 3], as it is without an export.

    The losses of MONAI list dimensions so; torch.export takes the numbers for data.
    """
    before, ranges = FakeTensor.tolist, NotedRanges()

    def tolist(tensor):
        for noted, numbers in ranges.noted:
            if noted is tensor and tensor._version == 0:
                return list(numbers)
        return before(tensor)

    FakeTensor.tolist = tolist
    try:
        with ranges:
            yield
    finally:
        FakeTensor.tolist = before


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
        layers = NoLayerDrop() if containers else contextlib.nullcontext()
        caches, paths = no_caches(module, notes), coin_paths(module)
        with plain_checkpoints(), plain_ranges(), caches, paths, layers:
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
    """torch.export logs and prints whole graphs before it raises; the error is enough."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    with warnings.catch_warnings(), contextlib.redirect_stderr(io.StringIO()):
        warnings.simplefilter("ignore")
        try:
            yield
        finally:
            logging.disable(before)
