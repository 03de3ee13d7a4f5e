"""What a job does, as a plain PyTorch script."""

import contextlib
from unittest import mock

import torch
from torch.nn import functional as F
from torch.optim import lr_scheduler


def warm_cosine(optimizer, steps, warmup):
    """The schedule cosine(steps=...,warmup=...)."""
    # A factor of 0 is refused; Braid's warm-up begins there.
    rising = lr_scheduler.LambdaLR(optimizer, lambda step: min(step / warmup, 1.0))
    falling = lr_scheduler.CosineAnnealingLR(optimizer, steps)
    return lr_scheduler.SequentialLR(optimizer, [rising, falling], [warmup])


def train_plain(twin, batches, optimizer, accumulate=1, clip=None, schedule=None, ema=None):
    """Trains on the batches in turn; the losses."""
    losses = []
    for batch in batches:
        optimizer.zero_grad()
        losses.append(backward(twin, batch, accumulate))
        if clip:
            torch.nn.utils.clip_grad_norm_(twin.parameters(), clip)
        optimizer.step()
        if schedule:
            schedule.step()
        if ema:
            ema.update_parameters(twin)
    return losses


def backward(twin, batch, parts):
    """Adds the gradients of a batch in parts; its loss, the mean of theirs."""
    total = 0.0
    for part in range(parts):
        loss = twin(**{name: t.chunk(parts)[part] for name, t in batch.items()}) / parts
        loss.backward()
        total += loss.item()
    return total


@contextlib.contextmanager
def other_loss(function):
    """Twins inside this compare with another loss than cross entropy."""
    with mock.patch.object(F, "cross_entropy", function):
        yield


def smoothed(share):
    plain = F.cross_entropy
    return lambda y, t: plain(y, t, label_smoothing=share)


def evaluate_plain(twin, data, rows):
    """Loss, accuracy and top5 of model.eval() over all samples."""
    plain, sums = F.cross_entropy, {"loss": 0.0, "accuracy": 0.0, "top5": 0.0}
    size = len(next(iter(data.values())))

    def counted(scores, targets):
        best = scores.topk(min(5, scores.shape[1]), 1).indices == targets[:, None]
        each = len(targets) * size / current
        sums["accuracy"] += best[:, 0].sum().item() / each
        sums["top5"] += best.any(1).sum().item() / each
        return plain(scores, targets)

    twin.eval()
    with torch.no_grad(), other_loss(counted):
        for first in range(0, size, rows):
            batch = {name: t[first : first + rows] for name, t in data.items()}
            current = len(next(iter(batch.values())))
            sums["loss"] += twin(**batch).item() * current / size
    twin.train()
    return sums
