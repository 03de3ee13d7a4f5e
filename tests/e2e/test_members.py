"""Members of arrays: shared batches, own values, none disturbs another.

That they equal their solo runs is in test_independence.py.
"""

import models
import pytest
import torch
from array_case import members_file
from braid_run import model_text, run_members, run_step, save
from measure import Run, differences

STEPS = 5
SIZES = {
    "mlp": {"hidden": 24, "layers": 2, "classes": 5, "dropout": 0.1},
    "lenet": {"classes": 6, "dropout": 0.1},
    "resblock": {"channels": 8, "blocks": 1, "classes": 5, "dropout": 0.1},
    "transformer": {"vocab": 20, "width": 16, "heads": 2, "layers": 1, "dropout": 0.1},
}
SHAPES = {
    "mlp": {"features": 12},
    "lenet": {"channels": 1, "side": 16},
    "resblock": {"side": 8},
    "transformer": {"length": 10},
}
LR = [1e-2, 3e-3, 2e-2, 5e-3, 1e-3]
WEIGHT_DECAY = [0.0, 0.1, 0.01, 0.2, 0.05]
DROPOUT = [0.1, 0.0, 0.5, 0.3, 0.2]


def text_of(name):
    return model_text(name, SIZES[name])


def member(k):
    """What member k has of its own, beside its files."""
    return {
        "seed": 11 + 7 * k,
        "lr": LR[k],
        "weight_decay": WEIGHT_DECAY[k],
        "dropout": DROPOUT[k],
    }


def as_run(result):
    return Run(result.losses, result.grads, result.state)


@pytest.mark.parametrize("name", SIZES)
def test_members_share_one_batch(tmp_path, name):
    sizes = SIZES[name] | SHAPES[name]
    inputs = save(tmp_path / "x.safetensors", models.batch(name, torch.float64, size=6, **sizes))
    entries = [member(k) for k in range(3)]
    results = run_members(
        text_of(name), inputs, STEPS, "adamw", {}, tmp_path / "out",
        members=members_file(tmp_path / "members.yaml", entries), dtype="f64",
    )  # fmt: skip
    for k, result in enumerate(results):
        own = member(k)
        seed = own.pop("seed")
        solo = as_run(
            run_step(
                text_of(name), inputs, STEPS, "adamw", own, tmp_path / f"solo-{k}",
                seed=seed, dtype="f64",
            )
        )  # fmt: skip
        lines = differences(as_run(result), solo, [solo], 1e-9, 1e-9, 0.0)
        assert not lines, f"member {k}:\n" + "\n".join(lines)


@pytest.mark.parametrize("own_inputs", [False, True])
@pytest.mark.parametrize("name", SIZES)
def test_a_broken_member_changes_no_bit_of_others(tmp_path, name, own_inputs):
    sizes = SIZES[name] | SHAPES[name]
    shared = save(tmp_path / "x.safetensors", models.batch(name, size=6, **sizes))
    results = {}
    for lr in (1e-2, float("inf")):
        entries = [member(k) for k in range(3)]
        entries[1]["lr"] = "inf" if lr == float("inf") else lr
        for k, entry in enumerate(entries if own_inputs else []):
            batch = models.batch(name, seed=k, size=6, **sizes)
            entry["inputs"] = str(save(tmp_path / f"x{k}.safetensors", batch))
        results[lr] = run_members(
            text_of(name), shared, STEPS, "sgd", {"momentum": 0.9}, tmp_path / f"out{lr}",
            members=members_file(tmp_path / "members.yaml", entries), dtype="f32",
            code=1 if lr == float("inf") else 0,
        )  # fmt: skip
    healthy, broken = results.values()
    assert broken[1].losses[-1] is None and None not in healthy[1].losses
    for k in (0, 2):
        assert broken[k].raw() == healthy[k].raw()


@pytest.mark.parametrize(
    "own", [{"clip_norm": 0.05}, {"clip_value": 0.002}, {"momentum": 0.9}, {"ema_decay": 0.5}]
)
def test_what_one_member_turns_on_the_others_do_not_notice(tmp_path, own):
    sizes = SHAPES["mlp"]
    inputs = save(tmp_path / "x.safetensors", models.batch("mlp", torch.float64, size=6, **sizes))
    entries = [{"seed": 1} | own, {"seed": 2}]
    base = {"lr": 0.1, "dampening": 0.1}
    results = run_members(
        "mlp", inputs, STEPS, "sgd", base, tmp_path / "out",
        members=members_file(tmp_path / "members.yaml", entries),
    )  # fmt: skip
    for k, values in enumerate([own, {}]):
        solo = run_step(
            "mlp", inputs, STEPS, "sgd", base | values, tmp_path / f"solo-{k}",
            seed=entries[k]["seed"],
        )  # fmt: skip
        lines = differences(as_run(results[k]), as_run(solo), [as_run(solo)], 1e-9, 1e-9, 0.0)
        assert not lines, "\n".join(lines)


def test_files_of_members_lie_beside_the_yaml(tmp_path):
    """Relative paths begin at the members file; 1e-4 is a number."""
    folder = tmp_path / "sub"
    folder.mkdir()
    save(folder / "a.safetensors", models.batch("mlp", size=6, features=12))
    save(tmp_path / "b.safetensors", models.batch("mlp", seed=1, size=6, features=12))
    path = folder / "members.yaml"
    path.write_text("# two\n- inputs: a.safetensors\n  lr: 1e-4\n- {lr: 1E-3, seed: 4}\n")
    results = run_members(
        "mlp", tmp_path / "b.safetensors", 2, "sgd", {}, tmp_path / "out", members=path
    )
    assert len(results) == 2
    assert results[0].losses != results[1].losses
