"""Jobs of a list end as if each of them had been trained alone."""

import json
import os
import re

import pytest
from braid_run import run_braid
from job_run import JobRun, far
from list_jobs import (
    BASE,
    check_same_members,
    content,
    ranking,
    relative_distance,
    train_alone,
    train_list,
    write_list,
)

LONG = bool(os.environ.get("BRAID_TEST_LONG"))

EXACT = 1e-9  # float64: only the order of sums differs

# float32: the largest distances that were measured are, after 9 steps, 9e-8 of
# numbers and 5e-6 of weights (AdamW divides by tiny second moments), and after
# 60 steps 3e-6 and 1.5e-4; the bounds leave a factor of ten.
NEAR = {"metrics": 3e-5, "state": 1.5e-3} if LONG else {"metrics": 1e-6, "state": 5e-5}


def two_dozen():
    """Whatever a sweep varies; three batch sizes and two widths separate arrays."""
    members = {}
    for i in range(24):
        values = {"optimizer.lr": round(0.001 * 1.3 ** (i % 8), 6), "seed": i % 5}
        if i % 3 == 1:
            values["optimizer.weight_decay"] = 0.02 * i
        if i % 4 == 2:
            values["schedule"] = f"cosine(steps={6 + i},warmup=2)"
        if i % 6 == 3:
            values["data.order_seed"] = i
        if i in (5, 11, 17):
            values["batch_size"] = 4
        if i in (7, 13):
            values["model"] = "lenet(side=14,classes=6)"
        elif i % 2 == 0:
            values["model"] = f"lenet(side=14,dropout={0.1 + 0.02 * i:.2f})"
        if i in (4, 20):
            values["steps"] = 5
        members[f"job{i}"] = values
    return members


def check_as_alone(runs, alone, metrics, state):
    for name, run in runs.items():
        assert relative_distance(run, alone[name]) < metrics, name
        assert far(run.state(), alone[name].state()) < state, name
        assert far(run.state("state"), alone[name].state("state")) < state, name
    assert ranking(runs) == ranking(alone)


@pytest.mark.parametrize("dtype", ["f64", "f32"])
def test_24_jobs_end_as_24_runs(tmp_path, dtype):
    members = two_dozen()
    words = [f"dtype={dtype}"] + (["steps=60"] if LONG else [])
    runs = train_list(tmp_path, members, *words)
    assert len(list((tmp_path / "list").glob("array-*"))) >= 3
    alone = train_alone(tmp_path, members, *words)
    bounds = {"metrics": EXACT, "state": EXACT} if dtype == "f64" else NEAR
    check_as_alone(runs, alone, **bounds)


def test_members_with_one_order_share_batches_and_end_as_alone(tmp_path):
    members = {f"m{i}": {"seed": i, "optimizer.lr": 0.001 * (i + 1)} for i in range(4)}
    data = BASE["data"] | {"order_seed": 3}
    path = write_list(tmp_path / "list.yaml", members, data=data)
    assert "one batch for all" in run_braid("validate", path).stdout
    runs = train_list(tmp_path, members, "dtype=f64", data=data)
    check_as_alone(runs, train_alone(tmp_path, members, "dtype=f64", data=data), EXACT, EXACT)


def test_a_gan_with_members(tmp_path):
    def network(kind, options, rate):
        return {"model": f"dcgan_{kind}(width=2,channels=1,side=16{options})",
                "optimizer": {"kind": "adam", "lr": rate}}  # fmt: skip

    changes = {
        "model": None, "optimizer": None, "eval": None,
        "data": BASE["data"] | {"size": 16},
        "inputs": {"y": "label"},
        "networks": {"painter": network("generator", ",latent=4", 0.002),
                     "critic": network("discriminator", "", 0.001)},
        "phases": [
            {"learns": "critic",
             "loss": "bce(critic(x), 1) + bce(critic(detach(painter(z))), 0)"},
            {"learns": "painter", "loss": "bce(critic(painter(z)), 1)", "every": 2},
        ],
        "noise": {"z": {"shape": [4, 1, 1]}},
        "drop_last": True,
    }  # fmt: skip
    members = {"a": {"seed": 1}, "b": {"networks.painter.optimizer.lr": 0.004},
               "c": {"phases.1.every": 1, "seed": 3}}  # fmt: skip
    runs = train_list(tmp_path, members, "dtype=f64", **changes)
    alone = train_alone(tmp_path, members, "dtype=f64", **changes)
    for name, run in runs.items():
        assert relative_distance(run, alone[name]) < EXACT, name
        for network in ("painter", "critic"):
            assert far(run.state(network), alone[name].state(network)) < EXACT, name


def test_jobs_that_differ_in_some_layers_train_as_one(tmp_path):
    """Three heads of other widths; the first to end makes the array smaller."""
    members = {f"of{n}": {"model": f"lenet(side=14,classes={n})", "seed": n} for n in (4, 5, 6)}
    members["of5"]["steps"] = 5
    runs = train_list(tmp_path, members, "dtype=f64")
    arrays = json.loads((tmp_path / "list" / "jobs.json").read_text())["arrays"]
    assert arrays == [[0, 1, 2]]
    check_as_alone(runs, train_alone(tmp_path, members, "dtype=f64"), EXACT, EXACT)


# Of each member another length, evaluations and checkpoints of its own.
UNEQUAL = {
    "long": {"steps": 14, "eval.every": 4, "checkpoint.best": "accuracy"},
    "short": {"steps": 3, "seed": 1},
    "often": {"steps": 10, "eval.every": 1, "checkpoint.every": 1, "checkpoint.keep": 3},
    "early": {"steps": 14, "optimizer.lr": 1e-7, "eval.every": 2,
              "eval.early_stop.patience": 1, "eval.early_stop.min_delta": 0.1},
    "epochs": {"steps": 12, "checkpoint.every": 0, "log_every": 5, "seed": 2},
}  # fmt: skip


@pytest.fixture(name="unequal", scope="module")
def train_unequal(tmp_path_factory):
    folder = tmp_path_factory.mktemp("unequal")
    members = UNEQUAL
    return folder, train_list(folder, members, "dtype=f64")


def test_members_of_unequal_length_end_as_alone(unequal):
    folder, runs = unequal
    assert len(list((folder / "list").glob("array-*"))) == 1
    alone = train_alone(folder, UNEQUAL, "dtype=f64")
    check_as_alone(runs, alone, EXACT, EXACT)
    assert runs["early"].split("eval")[-1]["step"] == 4, "stopped early"
    assert runs["short"].split("train")[-1]["step"] == 3


def test_a_member_has_the_folder_of_a_single_job(unequal):
    """The same files, also of checkpoints that are kept."""
    folder, _ = unequal
    (folder / "again").mkdir()
    train_alone(folder / "again", UNEQUAL, "dtype=f64")
    for name in UNEQUAL:
        alone = folder / "again" / "alone" / name
        found, expected = content(folder / "list" / name), content(alone)
        assert found.keys() == expected.keys(), name
        assert found["config"] == expected["config"]
        names = [sorted(re.sub(r"tfevents.*", "", p.name) for p in out.iterdir())
                 for out in (folder / "list" / name, alone)]  # fmt: skip
        assert names[0] == names[1]


def test_a_member_can_be_exported_and_resumed(unequal):
    folder, _ = unequal
    out = folder / "list" / "long"
    run_braid("export", out, "--best", "--to", folder / "best.safetensors")
    assert (folder / "best.safetensors").exists()
    before = content(out)
    assert "all 14 steps were done before" in run_braid("resume", out).stdout
    assert content(out) == before


def test_a_limit_makes_more_arrays_and_is_kept(tmp_path):
    members = {f"m{i}": {"seed": i} for i in range(6)}
    path = write_list(tmp_path / "list.yaml", members)
    text = run_braid("validate", path).stdout
    whole = re.search(r"array  0: 6 of .*, ([\d.]+) (KiB|MiB)", text)
    bytes_of = {"KiB": 2**10, "MiB": 2**20}
    limit = int(float(whole[1]) * bytes_of[whole[2]] * 0.4)  # two fit, three do not
    done = run_braid("train", path, "--out", tmp_path / "tight", "-v", f"memory_limit={limit}")
    assert done.stdout.count("array  2 jobs as one") == 3
    used = [
        float(a) * bytes_of[unit]
        for a, unit in re.findall(r"parameters · ([\d.]+) (KiB|MiB)", done.stdout)
    ]
    assert used and max(used) <= limit
    train_list(tmp_path, members)
    for name in members:
        states = [JobRun(tmp_path / out / name).state() for out in ("tight", "list")]
        assert far(*states) < 1e-5, name


def test_a_list_of_one_is_a_list(tmp_path):
    runs = train_list(tmp_path, {"only": {"seed": 4}})
    assert (tmp_path / "list" / "jobs.json").exists()
    alone = train_alone(tmp_path, {"only": {"seed": 4}})
    assert far(runs["only"].state(), alone["only"].state()) < 1e-5


def test_the_same_list_gives_the_same_bits(tmp_path):
    members = {f"m{i}": {"seed": i, "optimizer.lr": 0.001 * (i + 1)} for i in range(3)}
    train_list(tmp_path, members)
    (tmp_path / "list").rename(tmp_path / "first")
    train_list(tmp_path, members)
    check_same_members(tmp_path / "list", tmp_path / "first", members)
