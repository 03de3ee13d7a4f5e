"""Norms of gradients and weights, throughput and memory, in what a run writes."""

import json

import pytest
import torch
from braid_run import run_braid
from job_case import Case
from job_run import JobRun, bits, train
from test_event_files import as_single, read

EXTRA = {"grad_norm", "weight_norm"}


def without_norms(run):
    files, rows = bits(run)
    return files, [
        {k: v for k, v in row.items() if k.split("/")[0] not in EXTRA}
        for row in rows if row["split"] != "system"
    ]  # fmt: skip


def norm(tensors):
    return float(torch.sqrt(sum((t.double() ** 2).sum() for t in tensors)))


def torch_norms(case, steps):
    """By PyTorch: of the gradients before they are clipped, and of the weights after."""
    values = {k: v for k, v in case.job["optimizer"].items() if k != "kind"}
    optimizer = torch.optim.AdamW(case.twin.parameters(), **values)
    seen = []
    for batch in case.batches()[:steps]:
        optimizer.zero_grad()
        case.twin(**batch).backward()
        grads = {n: p.grad.clone() for n, p in case.twin.named_parameters()}
        torch.nn.utils.clip_grad_norm_(case.twin.parameters(), case.job["clip"])
        optimizer.step()
        seen.append((grads, {n: p.detach().clone() for n, p in case.twin.named_parameters()}))
    return seen


@pytest.fixture(name="case")
def make_case(tmp_path):
    return Case(tmp_path, "mlp", steps=7, clip=0.05)


def test_norms_are_those_of_torch(tmp_path, case):
    job = case.job | {"log_norms": {"of": ["layers", "*.bias"]}, "log_every": 3}
    run = train(tmp_path, job)
    rows = {row["step"]: row for row in run.split("train")}
    assert sorted(rows) == [3, 6, 7]
    seen = torch_norms(case, 7)
    for step, row in rows.items():
        for name, tensors in zip(("grad_norm", "weight_norm"), seen[step - 1], strict=True):
            assert row[name] == pytest.approx(norm(tensors.values()), rel=1e-9)
            biases = [t for n, t in tensors.items() if n.endswith(".bias")]
            assert row[f"{name}/*.bias"] == pytest.approx(norm(biases), rel=1e-9)
            for layer in ("layers.0", "layers.1", "head"):
                own = [t for n, t in tensors.items() if n.rpartition(".")[0] == layer]
                assert row[f"{name}/{layer}"] == pytest.approx(norm(own), rel=1e-9)
        assert row["grad_norm"] > 0.05, "it is that before clipping"
    tags = read(run.folder)
    assert tags["train/grad_norm"] == [(s, as_single(rows[s]["grad_norm"])) for s in (3, 6, 7)]


def test_norms_change_no_bit(tmp_path, case):
    job = case.job | {"accumulate": 2, "eval": {"data": case.job["data"]}}
    plain = train(tmp_path, job)
    looked = train(tmp_path, job, "log_norms=true", "log_system=true", out="looked")
    assert without_norms(looked) == bits(plain)
    row = looked.split("train")[0]
    assert EXTRA < row.keys() and not any("/" in name for name in row)


def test_each_member_has_its_own(tmp_path, case):
    job = case.job | {"log_norms": True}
    members = [{"optimizer.lr": 1e-3}, {"optimizer.lr": 3e-3, "steps": 5}, {"seed": 2}]
    path = tmp_path / "list.yaml"
    path.write_text(json.dumps(job | {"members": [{"name": f"m{i}"} | m
                                                  for i, m in enumerate(members)]}))  # fmt: skip
    run_braid("train", path, "--out", tmp_path / "list", "-q")
    for i, member in enumerate(members):
        words = [f"{key}={value}" for key, value in member.items()]
        alone = train(tmp_path, job, *words, out=f"alone{i}")
        together = JobRun(tmp_path / "list" / f"m{i}")
        for name in EXTRA:
            assert together.values(name) == pytest.approx(alone.values(name), rel=1e-7)


def test_system_rows(tmp_path, case):
    run = train(tmp_path, case.job | {"log_system": True, "log_every": 3})
    rows = run.split("system")
    assert [row["step"] for row in rows] == [3, 6, 7]
    for row in rows:
        assert row["samples_per_s"] > 0
        assert 0 < row["device_bytes"] <= row["device_peak_bytes"] < row["process_peak_bytes"]
        assert 0 < row["process_bytes"] <= row["process_peak_bytes"]
    assert read(run.folder)["system/samples_per_s"]


def test_phases_have_their_own(tmp_path):
    net = {"model": "mlp(features=2,classes=2,hidden=3)", "optimizer": {"kind": "sgd", "lr": 0.1}}
    lines = [f"{i % 7 / 7},{i % 5 / 5},{i % 3}" for i in range(22)]
    (tmp_path / "table.csv").write_text("\n".join(lines) + "\n")
    job = {
        "data": {"source": "csv", "file": "table.csv"}, "batch_size": 8, "threads": 1,
        "networks": {"f": net, "g": net}, "steps": 4, "log_every": 1,
        "phases": [{"learns": "f", "loss": "mse(f(x), 1)"},
                   {"learns": "g", "loss": "mse(g(x), 1)", "every": 2}],
        "log_norms": True,
    }  # fmt: skip
    run = train(tmp_path, job)
    assert len(run.values("f/grad_norm")) == 4
    assert len(run.values("g/grad_norm")) == 2, "it learns every second step"


def test_a_pattern_that_fits_nothing_is_an_error(tmp_path, case):
    path = tmp_path / "job.yaml"
    path.write_text(json.dumps(case.job | {"log_norms": {"of": ["haed.*"]}}))
    text = run_braid("train", path, "--out", tmp_path / "out", code=2).stderr
    assert "'haed.*' fits no parameter that learns" in text
    assert not (tmp_path / "out").exists()
