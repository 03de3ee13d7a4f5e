"""A loss for a module that gives scores."""

import contextlib

import torch

from .error import ExportError

SHORT_NAMES = {
    "mse": "mse_loss",
    "l1": "l1_loss",
    "nll": "nll_loss",
    "huber": "huber_loss",
    "smooth_l1": "smooth_l1_loss",
    "bce": "binary_cross_entropy_with_logits",
}


# What predictions are called.
SCORES = "scores"


def pick_output(result, output):
    """The tensor of a module's result that the loss is of."""
    if isinstance(result, torch.Tensor):
        return result
    if output is None and hasattr(result, "logits"):
        return result.logits
    if output is None and isinstance(result, (tuple, list)):
        return result[0]
    with contextlib.suppress(KeyError, IndexError, TypeError, AttributeError):
        if str(output).isdigit():
            return result[int(output)]
        return result[output] if isinstance(result, dict) else getattr(result, output)
    tensors = {n: t for n, t in parts_of(result).items() if isinstance(t, torch.Tensor)}
    if output is None and len(tensors) == 1:
        return next(iter(tensors.values()))
    kind = type(result).__name__
    names = f" with {', '.join(tensors)}" if tensors else ""
    said = f" and no '{output}'" if output is not None else ""
    raise ExportError(
        f"the module returns a {kind}{names}{said}\nHINT: say which part with --output NAME"
    )


def parts_of(result):
    """The parts of a dict or of a dataclass, by name."""
    return dict(result) if isinstance(result, dict) else dict(getattr(result, "__dict__", {}))


def loss_function(name):
    name = SHORT_NAMES.get(name, name)
    function = getattr(torch.nn.functional, name, None)
    if function is None or not callable(function):
        raise ExportError(
            f"no loss '{name}'\nHINT: a function of torch.nn.functional, such as cross_entropy"
        )
    return function


def class_scores_last(name, scores, target):
    """Language models give [N, T, C] where cross_entropy wants [N, C, T]."""
    return name == "cross_entropy" and scores.dim() > 2 and scores.shape[:-1] == target.shape


def with_loss(forward, name, target, output):
    """forward(inputs) -> the loss of its output and the input `target`, and the output."""
    if target is None:
        raise ExportError(f"--loss {name} needs --target, the input to compare with")
    function = loss_function(name)

    def loss(**inputs):
        truth = inputs.pop(target)
        scores = pick_output(forward(**inputs), output)
        compared = scores
        if class_scores_last(name, scores, truth):
            compared, truth = scores.flatten(0, -2), truth.flatten()
        return {"loss": function(compared, truth), SCORES: scores}

    return loss
