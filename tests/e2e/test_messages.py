"""-q, -v and --log-level: what a run says on the terminal, and in log.txt."""

import pytest
from braid_run import run_braid

JOB = """
model: lenet
data: {source: glyphs, classes: 10, count: 64}
eval: {limit: 16}
steps: 4
batch_size: 16
"""
PREPARED = ("opened in", "fields ", "programs were compiled in", "plan ", "memory ")


@pytest.fixture
def job(tmp_path):
    path = tmp_path / "job.yaml"
    path.write_text(JOB)
    return path


def train(job, *options, code=0):
    out = job.parent / "run"
    return run_braid("train", job, "--out", out, *options, code=code)


def log_of(job):
    return (job.parent / "run" / "log.txt").read_text()


def test_by_default_the_data_and_the_model_are_named(job):
    done = train(job)
    assert done.stdout.startswith("data   64 samples of glyphs")
    assert "\nmodel  " in done.stdout
    assert not any(word in done.stdout for word in PREPARED)


@pytest.mark.parametrize("options", [["-v"], ["--verbose"], ["--log-level", "debug"]])
def test_verbose_runs_tell_what_is_prepared(job, options):
    done = train(job, *options)
    assert all(word in done.stdout for word in PREPARED)
    assert "checkpoint of step 4" in done.stdout


def test_warnings_alone_leave_the_progress(job):
    done = train(job, "--log-level", "warning")
    assert done.stdout.startswith("step ")


def test_a_quiet_run_says_its_last_line(job):
    done = train(job, "-q")
    assert len(done.stdout.splitlines()) == 1
    assert done.stdout.startswith("done ")


@pytest.mark.parametrize("options", [[], ["-q"]])
def test_the_log_has_every_message(job, options):
    train(job, *options)
    assert all(word in log_of(job) for word in PREPARED)
    assert "data   64 samples" in log_of(job)


def test_a_list_without_a_terminal_says_little(job):
    """A head, lines for all jobs together, the result; the rest is in the logs."""
    rates = ", ".join(f"{{optimizer.lr: {i}e-4}}" for i in (1, 2, 3, 40))
    job.write_text(f"{JOB}members: [{rates}]\n")
    lines = train(job).stdout.splitlines()
    first = [line.split()[0] for line in lines]
    assert first[:4] == ["data", "model", "array", "eval"]
    assert set(first[4:-6]) == {"models"} and "  best lr=" in lines[-7]
    assert first[-6:] == ["name", "1", "2", "3", "4", "done"]
    for name in ("lr=1e-4", "lr=4e-3"):
        log = (job.parent / "run" / name / "log.txt").read_text()
        assert "eval   step 4  accuracy " in log and "done   after step 4" in log


def test_resume_takes_the_same_options(job):
    train(job, "-q")
    done = run_braid("resume", job.parent / "run", "-v")
    assert "were opened in" in done.stdout


@pytest.mark.parametrize(("options", "problem"), [
    (["--log-level", "loud"], "loud not in {error,warning,info,debug}"),
    (["-q", "-v"], "excludes"),
    (["-q", "--log-level", "info"], "excludes"),
])
def test_contradictions_are_errors(job, options, problem):
    done = train(job, *options, code=2)
    assert problem in done.stderr
    assert done.stdout == ""
