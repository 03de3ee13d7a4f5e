"""Words that another verb or another program knows are answered with the way that works."""

import pytest
from braid_run import run_braid
from train_jobs import write_job, write_table

WORDS = {
    "train --device": (["train", "{job}", "--device", "cuda", "--out", "o"], "write device=cuda"),
    "train --lr": (["train", "{job}", "--lr=1e-3", "--out", "o"], "write optimizer.lr=1e-3"),
    "train --epochs": (["train", "{job}", "--epochs", "3"], "write epochs=3"),
    "train lr": (["train", "{job}", "lr=1e-3", "--out", "o"], "did you mean 'optimizer.lr'?"),
    "validate lr": (["validate", "{job}", "lr=1e-3"], "did you mean 'optimizer.lr'?"),
    "validate --memory-limit": (["validate", "{job}", "--memory-limit", "4GB"], "memory_limit=4GB"),
    "validate batchsize": (["validate", "{job}", "batchsize=4"], "did you mean 'batch_size'?"),
    "validate zebra": (["validate", "{job}", "zebra=4"], "there are model, "),
    "validate patience": (["validate", "{job}", "patience=4"], "'eval.early_stop.patience'"),
    "step lr": (["step", "mlp", "optimizer.lr=1e-3"], "write --set lr=1e-3"),
    "step --epochs": (["step", "mlp", "--epochs", "3"], "write --steps 3"),
    "export --data": (["export", "runs", "--data", "x=1"], "of 'braid eval', 'braid predict'"),
    "runs --zebra": (["runs", "runs", "--zebra"], "'braid runs' has --sort, "),
    "evaluate": (["evaluate", "runs"], "did you mean 'eval'?"),
}  # fmt: skip


@pytest.mark.parametrize("name", WORDS)
def test_the_hint_names_a_way_that_works(tmp_path, name):
    write_table(tmp_path / "table.csv")
    words, expected = WORDS[name]
    job = write_job(tmp_path / "job.yaml")
    done = run_braid(*[w.format(job=job) for w in words], code=2, cwd=tmp_path)
    hint = done.stderr[done.stderr.index("HINT: ") :]
    assert expected in hint and "zebra" not in hint.replace("--zebra", "")
    assert "zebra" not in name or "did you mean" not in hint


def test_what_the_hint_says_works(tmp_path):
    write_table(tmp_path / "table.csv")
    job = write_job(tmp_path / "job.yaml")
    run_braid("validate", job, "optimizer.lr=1e-3", "device=cpu", "memory_limit=4GiB", "epochs=3")
