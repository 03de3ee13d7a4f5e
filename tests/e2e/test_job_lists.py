"""Lists of jobs as `braid validate` sees them: members, files, groups."""

import pytest
from braid_run import run_braid
from train_jobs import check_message, write_job, write_table


@pytest.fixture
def folder(tmp_path):
    write_table(tmp_path / "table.csv")
    return tmp_path


def validate(folder, *words, code=0):
    return run_braid("validate", *words, code=code, cwd=folder)


def lines_after(text, word):
    lines = text.splitlines()
    return lines[next(i for i, line in enumerate(lines) if line.startswith(word)) :]


def test_members_are_listed_by_group(folder):
    rates = [{"optimizer.lr": 10**-i, "data.order_seed": 1} for i in range(1, 4)]
    others = [{"batch_size": 10, "seed": seed} for seed in (1, 2)]
    write_job(folder / "sweep.yaml", {"members": rates + others})
    text = validate(folder, "sweep.yaml").stdout
    assert text.startswith("data   50 samples of ")
    lines = [line.strip() for line in lines_after(text, "jobs")]
    assert lines[0] == "jobs   5 in 2 groups, 2 arrays"
    assert lines[1].startswith("array  0: 3 of mlp(hidden=8), ")
    assert lines[1].endswith(", one batch for all")
    assert [line.split(",")[1] for line in lines[2:5]] == ["lr=0.1", "lr=0.01", "lr=1e-3"]
    assert lines[5].startswith("array  1: 2 of mlp(hidden=8), ")
    assert "one batch" not in lines[5]
    assert lines[-1] == "ok     sweep.yaml"


def test_many_names_are_counted(folder):
    write_job(folder / "sweep.yaml", {"members": [{"seed": i} for i in range(20)]})
    lines = lines_after(validate(folder, "sweep.yaml").stdout, "jobs")
    assert lines[0] == "jobs   20 in 1 group, 1 array"
    assert lines[2:4] == ["         seed=0", "         seed=1"]
    assert lines[10] == "         ... 12 more"


def test_several_files_are_one_list(folder):
    write_job(folder / "a.yaml", {"members": [{"seed": 1}, {"seed": 2}]})
    write_job(folder / "b.yaml")
    text = validate(folder, "a.yaml", "b.yaml", "epochs=1").stdout
    lines = [line.strip() for line in lines_after(text, "jobs")]
    assert lines[0] == "jobs   3 in 1 group, 1 array"
    assert lines[2:5] == ["a-seed=1", "a-seed=2", "b"]
    assert lines[5:] == ["ok     a.yaml", "ok     b.yaml"]


def test_the_command_line_may_have_the_members(folder):
    write_job(folder / "job.yaml")
    text = validate(folder, "job.yaml", "members=[{seed: 1}, {seed: 2}]").stdout
    assert "jobs   2 in 1 group, 1 array" in text


def test_a_limit_cuts_the_list(folder):
    """Ten of them would fit; no array is a small remainder."""
    members = [{"seed": i} for i in range(24)]
    write_job(folder / "sweep.yaml", {"members": members, "model": "mlp(hidden=256)"})
    text = validate(folder, "sweep.yaml", "memory_limit=5.5MiB").stdout
    arrays = [line for line in text.splitlines() if line.startswith("array")]
    assert [int(line.split()[2]) for line in arrays] == [8, 8, 8]
    assert all(line.endswith(" MiB of 5.50 MiB") for line in arrays)


PROBLEMS = {
    "a member's value": (
        {"members": [{"seed": 1}, {"optimizer.lr": "fast"}]},
        ["job.yaml line", "members.1: optimizer.lr is a number"],
    ),
    "a member's name": ({"members": [{"name": "a/b"}]}, ["members.0.name 'a/b'", "HINT"]),
    "a member's data": (
        {"members": [{"seed": 1}, {"name": "odd", "data.file": "none.csv"}]},
        ["none.csv", "(job 'odd')"],
    ),
    "no members": ({"members": []}, ["members has 1 to 4096 items, got 0"]),
}


@pytest.mark.parametrize("case", PROBLEMS)
def test_problems_name_the_member(folder, case):
    changes, words = PROBLEMS[case]
    write_job(folder / "job.yaml", changes)
    code = 1 if "data" in case else 2
    checked = validate(folder, "job.yaml", code=code)
    assert checked.stdout == ""
    check_message(checked.stderr, words)
