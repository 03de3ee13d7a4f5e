"""The modules of the corpus themselves: they export, and can show an error.

What PyTorch makes of an exported file must be what it makes of the module;
else a difference in an import test would say nothing about Braid.
"""

import copy
import math

import pytest
import torch
from exporting.gradients import gradient_differences
from measure import ROUNDING, error, scale_of
from modules import MODULES
from reference import LIBRARIES, LONG, Subject, eval_loss, subjects

# Arguments that say "train": operator -> place, where statistics are kept.
TRAIN_ARGUMENTS = {
    "aten.batch_norm.default": (5, 3),
    "aten.instance_norm.default": (5, 3),
    "aten.dropout.default": (2, None),
    "aten.dropout_.default": (2, None),
    "aten.feature_dropout.default": (2, None),
}


@pytest.fixture(scope="module", params=subjects(("f64", "f32") if LONG else ("f64",)))
def subject(request, tmp_path_factory):
    name, dtype = request.param
    return Subject(name, dtype, tmp_path_factory.mktemp(name))


def test_corpus_is_large_and_varied():
    sources = {name: case.make.__module__.split(".")[-1] for name, case in MODULES.items()}
    assert len(MODULES) >= 60
    assert sum(source.startswith("hf_") for source in sources.values()) >= 25
    assert sum(source == "vision" for source in sources.values()) >= 15
    assert sum(source.startswith("plain_") for source in sources.values()) >= 20
    assert 20 <= sum(case.quick for case in MODULES.values()) <= 33
    assert set(LIBRARIES) == {"transformers", "timm", "torchvision"}


def test_file_holds_the_module(subject):
    """Loss, gradients and buffers of the loaded file are those of eager."""
    program = torch.export.load(subject.file)
    assert not gradient_differences(subject.module, program, subject.inputs)
    module, there = copy.deepcopy(subject.module), program.module()  # both as saved
    module(**subject.inputs)
    there(**subject.inputs)
    buffers = dict(there.named_buffers())
    for name, want in module.named_buffers():
        if name in module.state_dict():
            assert torch.equal(buffers[name], want), name


def test_training_moves_and_stays_finite(subject):
    """A module whose loss or weights stay as they are would prove nothing."""
    for kind, lr in (("sgd", 1e-2), ("adamw", 1e-3)):
        run, nudges = subject.expected(kind, lr * subject.case.lr, 5)
        assert all(math.isfinite(loss) for loss in run.losses) and len(set(run.losses)) > 1
        assert all(bool(t.isfinite().all()) for t in run.state.values())
        before = subject.module.state_dict()
        for name in run.grads:
            assert kind == "sgd" or not torch.equal(run.state[name], before[name]), name
        scale = scale_of(run.grads)
        sharp = [n for n, g in run.grads.items()
                 if max(error(k.grads[n], g, scale) for k in nudges) <= ROUNDING]  # fmt: skip
        assert len(sharp) >= 0.5 * len(run.grads), "mostly rounding"


def in_eval_form(program):
    """The program as eval() would have it: what an importer may change."""
    for node in program.graph.nodes:
        place, statistics = TRAIN_ARGUMENTS.get(str(node.target), (None, None))
        keeps = statistics is None or (place is not None and node.args[statistics] is not None)
        if place is not None and keeps:
            node.update_arg(place, False)
    program.graph_module.recompile()
    return program


def test_eval_form_can_be_had_from_the_file(subject):
    """Cases for the eval test: only dropout and batch statistics differ."""
    if not subject.case.eval_form:
        pytest.skip("eval() changes more than an export in train mode can know")
    program = in_eval_form(torch.export.load(subject.file))
    with torch.no_grad():
        got = program.module()(**subject.inputs).double().item()
    limit = 1e-5 if subject.nudge_dtype != torch.float64 else 1e-10
    limit = 1e-2 if subject.nudge_dtype == torch.float16 else limit
    assert got == pytest.approx(eval_loss(subject.module, subject.inputs), rel=limit)
