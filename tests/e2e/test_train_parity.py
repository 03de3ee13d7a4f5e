"""`braid train` follows a plain PyTorch script: same weights, same batches."""

import math

import models
import numpy as np
import pytest
import torch
from braid_run import model_text
from data_order import batches
from job_case import SAMPLES, Case, draw_images
from job_run import far, save_init, torch_dtype, train
from plain_training import evaluate_plain, other_loss, smoothed, train_plain, warm_cosine
from torch.nn import functional as F
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

TEXT = "the quick brown fox jumps over the lazy dog. sphinx of black quartz, judge my vow; "
LENGTH = 12
LANGUAGE = {
    "transformer_lm": {"width": 16, "heads": 2, "layers": 2, "positions": 16, "dropout": 0},
    "lstm_lm": {"width": 16, "hidden": 16, "layers": 2, "dropout": 0},
}


def write_text(path):
    """A text with some order and some chance, with letters of two bytes."""
    random = np.random.default_rng(3)
    words = (TEXT + "où est l'été? über ").split(" ")
    path.write_text(" ".join(random.choice(words) for _ in range(900)), encoding="utf-8")
    return path.read_text(encoding="utf-8")


def windows(tokens):
    """Samples, as the source `text` cuts them."""
    starts = range(0, len(tokens) - LENGTH, LENGTH)
    return {
        "tokens": torch.stack([tokens[s : s + LENGTH] for s in starts]),
        "targets": torch.stack([tokens[s + 1 : s + 1 + LENGTH] for s in starts]),
    }


def parts_of(text):
    """Samples to train and to evaluate, and the number of letters."""
    letters = sorted(set(text))
    tokens = torch.tensor([letters.index(c) for c in text])
    first = int(len(tokens) * 0.9)
    return windows(tokens[:first]), windows(tokens[first:]), len(letters)


LANGUAGE_RUNS = [("f32", 200, 1e-4), ("f64", 50, 1e-9)]


@pytest.mark.parametrize("dtype, steps, tolerance", LANGUAGE_RUNS)
@pytest.mark.parametrize("name", LANGUAGE)
def test_a_character_language_model(tmp_path, name, dtype, steps, tolerance):
    data, held, vocab = parts_of(write_text(tmp_path / "text.txt"))
    sizes = LANGUAGE[name]
    twin = models.make(name, torch_dtype(dtype), length=LENGTH, vocab=vocab, **sizes)
    job = {
        "model": model_text(name, sizes),
        "data": {"source": "text", "file": "text.txt", "length": LENGTH},
        "optimizer": {"kind": "adamw", "lr": 3e-3, "weight_decay": 0.05},
        "schedule": "cosine(steps=180,warmup=20)",
        "clip": 0.5,
        "steps": steps,
        "batch_size": 16,
        "init": save_init(tmp_path / "init.safetensors", twin),
        "dtype": dtype,
        "seed": 4,
        "threads": 1,
        "log_every": 1,
    }
    run = train(tmp_path, job)
    optimizer = torch.optim.AdamW(twin.parameters(), lr=3e-3, weight_decay=0.05)
    want = train_plain(
        twin, batches(data, job, steps), optimizer, clip=0.5,
        schedule=warm_cosine(optimizer, 180, 20),
    )  # fmt: skip
    assert far(run.losses, want) < tolerance
    assert want[-1] < want[0] - 0.2, "nothing was learned"
    loss = evaluate_plain(twin, held, 16)["loss"]
    assert run.evaluation["loss"] == pytest.approx(loss, rel=tolerance)
    assert run.evaluation["perplexity"] == pytest.approx(math.exp(loss), rel=10 * tolerance)


@pytest.mark.parametrize("source", ["npy", "safetensors"])
@pytest.mark.parametrize("name", ["lenet", "resblock"])
def test_shorter_last_batches_and_buffers(tmp_path, name, source):
    Case(tmp_path, name, source=source).check()


def test_a_mobilenet(tmp_path):
    Case(tmp_path, "mobilenet_v3_large", steps=4).check(1e-8)


def test_last_batches_that_are_dropped(tmp_path):
    Case(tmp_path, "resblock", drop_last=True, seed=3).check()


def test_without_shuffling(tmp_path):
    case = Case(tmp_path, "lenet")
    case.job["data"]["shuffle"] = False
    case.check()


def test_accumulation_sees_the_parts_of_a_batch(tmp_path):
    """The mean of the parts, and BatchNorm sees each of them."""
    case = Case(tmp_path, "resblock", accumulate=2, drop_last=True)
    case.check(accumulate=2)


def test_accumulation_of_a_shorter_batch(tmp_path):
    """12 rows in parts of at most 8 are 6 and 6."""
    data = draw_images("resblock", "f64", size=28)
    Case(tmp_path, "resblock", data=data, accumulate=2).check(accumulate=2)


def groups_of(twin, **values):
    """Parameters whose names end in bias have values of their own."""
    named = list(twin.named_parameters())
    return [
        {"params": [p for n, p in named if not n.endswith("bias")]},
        {"params": [p for n, p in named if n.endswith("bias")], **values},
    ]


def test_groups_and_frozen_parameters(tmp_path):
    groups = [{"pattern": "*bias", "weight_decay": 0, "lr": 1e-3}]
    case = Case(tmp_path, "resblock", groups=groups, freeze=["stem*"])
    frozen = [p for n, p in case.twin.named_parameters() if n.startswith("stem")]
    for parameter in frozen:
        parameter.requires_grad_(False)
    case.check(parameters=groups_of(case.twin, weight_decay=0, lr=1e-3))
    assert len(frozen) == 3


def test_averaged_weights_are_saved_and_evaluated(tmp_path):
    case = Case(tmp_path, "resblock", ema=0.8)
    case.job["eval"] = {"data": case.job["data"], "metrics": ["accuracy", "top5"]}
    average = AveragedModel(case.twin, multi_avg_fn=get_ema_multi_avg_fn(0.8))
    run = case.check(ema=average)
    assert far(run.state("model_ema"), average.module.state_dict()) < 1e-9
    want = evaluate_plain(average.module, case.data, rows=16)
    assert {name: run.evaluation[name] for name in want} == pytest.approx(want, rel=1e-9)


def test_label_smoothing(tmp_path):
    with other_loss(smoothed(0.1)):
        Case(tmp_path, "lenet", loss="cross_entropy(label_smoothing=0.1)").check()


LOSSES = {
    "mse": F.mse_loss,
    "l1": F.l1_loss,
    "bce_with_logits": F.binary_cross_entropy_with_logits,
}


@pytest.mark.parametrize("name", LOSSES)
def test_losses_of_numbers(tmp_path, name):
    generator = torch.Generator().manual_seed(8)
    x = torch.randn(SAMPLES, 6, generator=generator, dtype=torch.float64)
    y = torch.rand(SAMPLES, 4, generator=generator, dtype=torch.float64)
    with other_loss(LOSSES[name]):
        run = Case(tmp_path, "mlp", data={"x": x, "y": y}, source="npy", loss=name).check()
    assert run.split("eval") == []


def test_half_precision_follows_from_afar(tmp_path):
    case = Case(tmp_path, "lenet", dtype="f32", precision="bf16", steps=20)
    run = train(tmp_path, case.job)
    want = case.plain()
    assert far(run.losses, want) < 0.05
    assert run.losses != pytest.approx(want, abs=1e-6), "nothing was rounded"
    assert {t.dtype for t in run.state().values()} == {torch.float32}
