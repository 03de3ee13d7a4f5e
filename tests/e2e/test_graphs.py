"""`braid inspect`, and graph files as models."""

import re

import models
import pytest
import torch
from braid_run import Result, run_braid, run_step, save, step_args


def test_inspect_shows_a_model():
    text = run_braid("inspect", "transformer(layers=3)", "--copies", "2").stdout
    for word in ("blocks.2", "tokens", "head.weight", "sgd", "adamw", "peak"):
        assert word in text
    assert re.search(r"loops over members: none", text)


def test_inspect_begins_with_a_summary():
    """By hand: 2 * 16 rows * (6 * 8 + 8 * 8 + 8 * 4) forward, and about twice that back."""
    text = run_braid("inspect", "mlp(batch=16,features=6,hidden=8,classes=4)").stdout
    lines = text.splitlines()
    assert lines[1] == "summary, of one step"
    parameters = 6 * 8 + 8 + 8 * 8 + 8 + 8 * 4 + 4
    assert lines[2].split(",")[0].split() == ["parameters", str(parameters)]
    forward = re.search(r"([\d.]+) KFLOP of it forward", lines[3])
    assert float(forward[1]) == pytest.approx(2 * 16 * (48 + 64 + 32) / 1000, rel=0.5)
    assert re.fullmatch(r"  peak +\S+ \w+ with adamw, \S+ \w+ with sgd", lines[4])
    assert re.fullmatch(r"  time +about \S+ ms, estimated for \d+ threads? of a CPU", lines[5])
    peak = re.search(r"^  sgd +\d+ bytes \((.*?)\)", text, re.MULTILINE)
    assert f"{peak[1]} with sgd" in lines[4]


def test_inspect_shows_the_plan_within_a_limit(tmp_path):
    """The peak is that of a training within the same limit."""
    model = "transformer(layers=3,length=32,batch=8)"
    text = run_braid("inspect", model, "--memory-limit", "1GiB").stdout
    whole = int(re.search(r"^  adamw +(\d+) bytes", text, re.M)[1])
    assert f"within 1.00 GiB, with adamw\n  peak   {whole} bytes" in text
    assert re.fullmatch(r"  plan +\d+ segments: \d+ keep .*", text.splitlines()[-1])
    limit = whole - 1000
    text = run_braid("inspect", model, "--memory-limit", limit).stdout
    peak = int(re.search(r"^  peak   (\d+) bytes", text, re.M)[1])
    assert peak <= limit and text.splitlines()[-1].startswith("  plan   ")
    tokens = torch.zeros(8, 32, dtype=torch.int64)
    given = {"tokens": tokens, "targets": tokens.clone()}
    inputs = save(tmp_path / "in.safetensors", given)
    args = step_args(model, inputs, 1, "adamw", {}, tmp_path / "out", memory_limit=limit)
    run_braid(*args)
    assert Result(tmp_path / "out").memory["predicted_peak_bytes"] == peak
    done = run_braid("inspect", model, "--memory-limit", "1KiB", code=1)
    assert "bytes short" in done.stderr and "summary" in done.stdout
    assert "'x' is no byte" in run_braid("inspect", model, "--memory-limit", "x", code=2).stderr


def test_inspect_shows_an_array():
    text = run_braid("inspect", "resblock", "--copies", "8").stdout
    assert "array of 8 members" in text
    rows = re.findall(r"^  (\S+) +(?:\[.*\]) +(grouped_last|grouped|member|gemm)$", text, re.M)
    assert len(rows) >= 3
    turns = re.search(r"values turned to another layout: (\d+), ([\d.]+ \w+)", text)
    assert turns
    assert len(re.findall(r"^  \S+ +to \[", text, re.M)) == int(turns[1])
    assert re.search(r"values that all members share: \d+", text)


def test_inspect_of_one_model_tells_no_array():
    assert "turned" not in run_braid("inspect", "lenet").stdout


@pytest.mark.parametrize("name", models.TWINS)
def test_a_printed_forward_is_a_model(tmp_path, name):
    """What `--dump-after forward` prints trains as the built-in does."""
    graph = tmp_path / "net.graph"
    sizes = {"mlp": {"features": 6}, "lenet": {"side": 12}, "resblock": {"side": 8}}
    chosen = sizes.get(name, {"length": 5, "vocab": 64})
    inputs = save(tmp_path / "x.safetensors", models.batch(name, size=4, classes=4, **chosen))
    told = {k: v for k, v in chosen.items() if k != "vocab"}
    text = f"{name}({','.join(f'{k}={v}' for k, v in (told | {'batch': 4}).items())},dropout=0.2)"
    dump = run_braid("inspect", text, "--dump-after", "forward").stdout
    graph.write_text(dump)
    results = []
    for model, out in ((text, "a"), (graph, "b")):
        run_braid(*step_args(model, inputs, 2, "adamw", {}, tmp_path / out))
        results.append(Result(tmp_path / out).raw())
    assert results[0] == results[1]
    again = run_braid("inspect", graph, "--dump-after", "forward").stdout
    assert again == dump


@pytest.mark.parametrize(
    "after", ["forward", "array", "autodiff", "accumulate", "optimizer", "layout", "fusion"]
)
def test_every_pass_can_be_printed(after):
    args = ["inspect", "mlp(dropout=0.1)", "--copies", "2", "--accumulate", "2"]
    text = run_braid(*args, "--dump-after", after).stdout
    assert text.startswith("braid-graph 1\n") and 'output "loss"' in text
    order = ["forward", "array", "autodiff", "accumulate", "optimizer", "layout", "fusion"]
    seen = {
        "array": "members=2",
        "autodiff": " backward",
        "accumulate": "\naccumulate ",
        "optimizer": "adamw_update",
    }
    for earlier, word in seen.items():
        assert (word in text) == (order.index(earlier) <= order.index(after)), word


def test_fusions_are_the_last_pass():
    """Runs of pointwise nodes become one node, in a step for a CPU."""
    laid_out, fused = (
        run_braid("inspect", "resblock", "--dump-after", after).stdout
        for after in ("layout", "fusion")
    )
    assert " = fusion(" not in laid_out and " = fusion(" in fused
    assert len(fused.splitlines()) < len(laid_out.splitlines())


@pytest.fixture(name="tied")
def make_tied(tmp_path):
    """A graph file in which one tensor has two names, and its inputs."""
    dump = run_braid("inspect", "mlp(batch=4,features=6)", "--dump-after", "forward").stdout
    line = re.search(r'^slot "layers.1.weight".*$', dump, re.MULTILINE)[0]
    text = dump.replace(line, f'{line} alias="tied.weight" alias="third.weight"')
    text = re.sub(r'^(slot "layers.0.bias".*)$', r"\1 frozen", text, flags=re.MULTILINE)
    (tmp_path / "tied.graph").write_text(text)
    save(tmp_path / "x.safetensors", models.batch("mlp", size=8, features=6))
    return tmp_path


def run_tied(folder, out, **options):
    return run_step(
        folder / "tied.graph", folder / "x.safetensors", 2, "sgd", {"lr": 0.1, "weight_decay": 0.1},
        folder / out, accumulate=2, **options,
    )  # fmt: skip


def test_a_tied_tensor_is_written_under_each_name(tied):
    """Inputs of twice the graph's batch make two micro-batches."""
    result = run_tied(tied, "a")
    names = ["layers.1.weight", "tied.weight", "third.weight"]
    assert set(names) < set(result.state)
    assert all(torch.equal(result.state[names[0]], result.state[n]) for n in names)
    assert "layers.1.weight" in result.grads and "tied.weight" not in result.grads


def test_a_frozen_parameter_stays_as_it_is(tied):
    before = run_tied(tied, "a").state["layers.0.bias"]
    init = save(tied / "i.safetensors", run_tied(tied, "b").state)
    after = run_tied(tied, "c", init=init)
    assert torch.equal(after.state["layers.0.bias"], before)
    assert "layers.0.bias" not in after.grads


def test_any_name_of_a_tied_tensor_is_enough_to_begin_with(tied):
    state = run_tied(tied, "a").state
    all_names = save(tied / "all.safetensors", state)
    expected = run_tied(tied, "b", init=all_names).raw()
    del state["layers.1.weight"], state["third.weight"]
    one_name = save(tied / "one.safetensors", state)
    assert run_tied(tied, "c", init=one_name).raw() == expected
    other = save(tied / "o.safetensors", state | {"third.weight": state["tied.weight"] + 1})
    args = step_args(tied / "tied.graph", tied / "x.safetensors", 2, "sgd", {}, tied / "d")
    failed = run_braid(*args, "--accumulate", 2, "--init", other, code=2)
    assert "tied to tied.weight" in failed.stderr
