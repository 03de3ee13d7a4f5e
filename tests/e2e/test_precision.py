"""bfloat16 compute with float32 masters, against PyTorch's autocast.

Rounding to 8 bits is the whole difference between two such runs, so the scale
of what is allowed is measured: how far PyTorch's own autocast ends from its
float32. Braid must be as near to float32 as autocast is, and to autocast.
"""

import copy

import models
import pytest
import torch
from braid_run import run_braid, run_members, run_step, save, step_args
from measure import train
from test_parity import SIZES, cli_sizes

STEPS = 20
FEW = 4  # before a number that is rounded the other way moves all that follow
OPTIMIZERS = {
    "sgd": ("sgd", {"lr": 0.05, "momentum": 0.9}, torch.optim.SGD),
    "adamw": ("adamw", {"lr": 3e-3, "weight_decay": 0.05}, torch.optim.AdamW),
}


def autocast(twin):
    """The twin with its forward under autocast."""
    forward = twin.forward

    def narrow(**inputs):
        with torch.autocast("cpu", torch.bfloat16):
            return forward(**inputs)

    twin.forward = narrow
    return twin


class Case:
    """A model in float32, its batch, and the three runs of it."""

    def __init__(self, folder, name, optimizer):
        self.folder, self.name = folder, name
        self.kind, self.values, self.make = OPTIMIZERS[optimizer]
        self.twin = models.make(name, torch.float32, **SIZES[name])
        self.inputs = models.batch(name, torch.float32, size=8, **SIZES[name])
        self.inputs_file = save(folder / "inputs.safetensors", self.inputs)
        self.init_file = save(folder / "init.safetensors", self.twin.state_dict())

    def braid(self, out="out", **options):
        options = {"precision": "bf16", "init": self.init_file, "threads": 1} | options
        return run_step(
            cli_sizes(self.name), self.inputs_file, STEPS, self.kind, self.values,
            self.folder / out, **options,
        )  # fmt: skip

    def torch(self, wrap=lambda twin: twin):
        twin = wrap(copy.deepcopy(self.twin))
        return train(twin, self.inputs, lambda p: self.make(p, **self.values), STEPS)


def distance(a, b):
    """Root mean square over steps of the difference of losses."""
    there = torch.tensor(b, dtype=torch.float64)
    return float((torch.tensor(a, dtype=torch.float64) - there).square().mean().sqrt())


def grad_distance(a, b):
    """The norm of the difference of all gradients over the norm of one."""
    apart = sum(float((a[n] - g).double().square().sum()) for n, g in b.items())
    return (apart / sum(float(g.double().square().sum()) for g in b.values())) ** 0.5


# Layer norm returns float32 here, as on a GPU, and bfloat16 in PyTorch on a CPU;
# the other models are lowered in the same way.
APART = {"mlp": 0.1, "lenet": 0.1, "resblock": 0.1, "transformer": 2.0}


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("name", SIZES)
def test_twenty_steps(tmp_path, name, optimizer):
    case = Case(tmp_path, name, optimizer)
    got, full, narrow = case.braid(), case.torch(), case.torch(autocast)
    for measure, here, there, f32, apart in (
        (grad_distance, got.grads, narrow.grads, full.grads, APART[name]),
        (distance, got.losses[:FEW], narrow.losses[:FEW], full.losses[:FEW], APART[name]),
        (distance, got.losses, narrow.losses, full.losses, max(APART[name], 1)),
    ):
        scale = measure(there, f32)
        assert scale > 0, "autocast does nothing"
        assert 0.5 * scale <= measure(here, f32) <= 2 * scale
        assert measure(here, there) <= apart * scale
    assert {t.dtype for t in got.grads.values()} == {torch.float32}
    assert {n: t.dtype for n, t in got.state.items()} == {n: t.dtype for n, t in full.state.items()}


def member_files(case, k):
    """Inputs and initial state of member k, in files."""
    sizes = SIZES[case.name]
    twin = models.make(case.name, torch.float32, seed=k, **sizes)
    batch = models.batch(case.name, torch.float32, seed=k, size=8, **sizes)
    return {
        "inputs": save(case.folder / f"x{k}.safetensors", batch),
        "init": save(case.folder / f"i{k}.safetensors", twin.state_dict()),
    }


@pytest.mark.parametrize("name", SIZES)
def test_an_array_of_three_is_three_solo_runs(tmp_path, name):
    """Within what bfloat16 itself moves a run; dropout masks are the same."""
    case = Case(tmp_path, name, "sgd")
    text = cli_sizes(name)[:-1] + ",dropout=0.1)"
    files = [member_files(case, k) | {"seed": k} for k in range(3)]
    yaml = tmp_path / "members.yaml"
    yaml.write_text(
        "".join(f"- {{{', '.join(f'{n}: {v}' for n, v in f.items())}}}\n" for f in files)
    )
    args = (STEPS, case.kind, case.values)
    array = run_members(
        text, None, *args, tmp_path / "array", members=yaml, precision="bf16", threads=1
    )
    for k, got in enumerate(array):
        own = {"init": files[k]["init"], "seed": k, "threads": 1}
        solo, full = (
            run_step(text, files[k]["inputs"], *args, tmp_path / f"{k}-{p}", precision=p, **own)
            for p in ("bf16", "f32")
        )
        assert distance(got.losses, solo.losses) <= distance(solo.losses, full.losses)
        moved = grad_distance(solo.grads, full.grads)
        assert grad_distance(got.grads, solo.grads) <= 0.1 * moved


@pytest.mark.parametrize("accumulate", [1, 2])
@pytest.mark.parametrize("name", SIZES)
def test_limits_and_plans_change_no_bit(tmp_path, name, accumulate):
    case = Case(tmp_path, name, "adamw")
    free = case.braid("free", accumulate=accumulate)
    limit = int(0.8 * free.memory["measured_peak_bytes"])
    tight = case.braid("tight", accumulate=accumulate, memory_limit=limit)
    assert tight.memory["measured_peak_bytes"] <= limit
    assert tight.raw() == free.raw()
    plan = tmp_path / "plan.yaml"
    for words in ("recompute", "offload,spilled,host"):
        plan.write_text(f"depth: 1\nsegments: {{default: '{words}'}}\n")
        planned = case.braid(words, accumulate=accumulate, plan=plan)
        assert planned.raw() == free.raw(), words


def test_a_run_goes_on_to_the_same_bits(tmp_path):
    case = Case(tmp_path, "transformer", "adamw")
    whole = case.braid("whole")
    args = (cli_sizes(case.name), case.inputs_file)
    options = {"init": case.init_file, "threads": 1, "checkpoint_every": 3}
    rest = (case.kind, case.values, tmp_path / "parts")
    run_braid(*step_args(*args, 7, *rest, **options, precision="bf16"))
    other = run_braid(*step_args(*args, STEPS, *rest, **options), code=2)
    assert "precision" in other.stderr
    parts = run_step(*args, STEPS, *rest, **options, precision="bf16")
    assert parts.raw() == whole.raw()


def test_activations_take_less_memory(tmp_path):
    """Kept activations take half; inputs, masters, scratch and the update do not."""
    tensors = models.batch("mlp", torch.float32, size=2048, features=64)
    inputs = save(tmp_path / "x.safetensors", tensors)
    text = "mlp(hidden=64,layers=16)"
    peak = {}
    for precision in ("f32", "bf16"):
        out = tmp_path / precision
        result = run_step(text, inputs, 1, "sgd", {}, out, precision=precision)
        peak[precision] = result.memory["measured_peak_bytes"]
    assert peak["bf16"] < 0.75 * peak["f32"]


def test_what_cannot_be_narrow_is_refused(tmp_path):
    case = Case(tmp_path, "mlp", "sgd")
    args = (cli_sizes("mlp"), case.inputs_file, 1, "sgd", {}, tmp_path / "o")
    wrong = run_braid(*step_args(*args, precision="fp8"), code=2)
    assert "--precision is f32 or bf16, not 'fp8'" in wrong.stderr
    wide = save(tmp_path / "w.safetensors", {n: t.double() if t.is_floating_point() else t
                                             for n, t in case.inputs.items()})  # fmt: skip
    args = (args[0], wide, *args[2:])
    double = run_braid(*step_args(*args, dtype="f64", precision="bf16"), code=2)
    assert "[precision] bf16 needs parameters in f32; 'layers.0.weight' is f64" in double.stderr
    assert "HINT:" in double.stderr
    assert not (tmp_path / "o").exists()


BF16_PARAMETERS = """braid-graph 1
slot "w" bf16[4] parameter constant(1.0)
input %0 "x" bf16[4]
%1: bf16[4] = read "w"
%2: bf16[4] = mul(%0, %1)
%3: bf16[] = sum(%2) {dims=[0], keep_dims=false}
output "loss" %3
"""


def test_parameters_are_never_bf16(tmp_path):
    graph = tmp_path / "narrow.graph"
    graph.write_text(BF16_PARAMETERS)
    inputs = save(tmp_path / "x.safetensors", {"x": torch.ones(4, dtype=torch.bfloat16)})
    args = (graph, inputs, 1, "sgd", {}, tmp_path / "o")
    failed = run_braid(*step_args(*args), code=2)
    assert "[sgd_update] parameters are f32 or f64, not bf16" in failed.stderr
    asked = run_braid(*step_args(*args, precision="bf16"), code=2)
    assert "[precision] bf16 needs parameters in f32; 'w' is bf16" in asked.stderr


def test_inspect_shows_the_casts():
    done = run_braid("inspect", "mlp", "--precision", "bf16", "--dump-after", "precision")
    assert "bf16[16, 32] = linear(" in done.stdout
    plain = run_braid("inspect", "mlp", "--dump-after", "precision")
    assert "bf16" not in plain.stdout
