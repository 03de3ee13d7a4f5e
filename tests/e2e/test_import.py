"""Unmodified PyTorch modules, imported from .pt2 files, against eager PyTorch.

Every module of tests/e2e/modules in float64 and float32: losses, gradients by
name, buffers and parameters, alone and as an array of three. By default the
quick ones; all of them with BRAID_TEST_LONG=1.
"""

import json

import pytest
import torch
from braid_run import run_braid, run_members, run_step
from measure import differences
from reference import Subject, optimizer, subjects

TOLERANCE = {torch.float64: 1e-9, torch.float32: 1e-4}
RATES = {"sgd": 1e-2, "adamw": 1e-3}
MEMBER_RATES = [1e-2, 3e-3, 2e-2]


@pytest.fixture(scope="module", params=subjects())
def subject(request, tmp_path_factory):
    name, dtype = request.param
    return Subject(name, dtype, tmp_path_factory.mktemp(name))


def check(subject, result, kind, lr, steps):
    expected, nudges = subject.expected(kind, lr, steps)
    # A loss in float32 has its last digit, whatever a nudge does to it.
    tolerance = max(TOLERANCE[subject.dtype], 4 * torch.finfo(subject.nudge_dtype).eps)
    got = subject.as_run(result, expected)
    lines = differences(got, expected, nudges, tolerance, tolerance, lr * steps)
    assert not lines, "\n".join(lines)


@pytest.mark.parametrize("kind, steps", [("sgd", 1), ("sgd", 5), ("adamw", 5)])
def test_training_is_that_of_pytorch(subject, tmp_path, kind, steps):
    lr = RATES[kind] * subject.case.lr
    values, _ = optimizer(kind, lr)
    result = run_step(subject.file, subject.inputs_file, steps, kind, values, tmp_path / "out")
    check(subject, result, kind, lr, steps)


def test_members_of_an_array_are_as_alone(subject, tmp_path):
    """Three members with rates of their own, each against its own run."""
    rates = [rate * subject.case.lr for rate in MEMBER_RATES]
    members = tmp_path / "members.yaml"
    members.write_text("".join(f"- {json.dumps({'lr': lr})}\n" for lr in rates))
    values, _ = optimizer("sgd", rates[0])
    results = run_members(
        subject.file, subject.inputs_file, 5, "sgd", values, tmp_path / "out", members=members
    )
    assert len(results) == len(rates)
    for lr, result in zip(rates, results, strict=True):
        check(subject, result, "sgd", lr, 5)


def test_eval_form_is_eval_mode(subject, tmp_path):
    """Dropout off, batch statistics from the buffers of the file."""
    if not subject.case.eval_form:
        pytest.skip("eval() changes more than an export in train mode can know")
    expected, nudges = subject.eval_losses()
    run_braid(
        "step", subject.file, "--inputs", subject.inputs_file, "--form", "eval",
        "--out", tmp_path / "out",
    )  # fmt: skip
    (loss,) = json.loads((tmp_path / "out" / "losses.json").read_text())
    response = max(abs(nudge - expected) for nudge in nudges)
    limit = max(TOLERANCE[subject.dtype] * abs(expected), 3 * response)
    assert abs(loss - expected) <= limit, f"{loss} instead of {expected} (limit {limit:.3g})"
