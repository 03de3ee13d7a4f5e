"""Wrong jobs and a wrong world: the exit code, words that help, nothing lost."""

import struct

import numpy as np
import pytest
import torch
from braid_run import run_braid, save
from train_jobs import check_message, snapshot, write_job, write_table

EVAL = {"data": {"source": "csv", "file": "table.csv"}}
NPY = {"source": "npy", "files": ["x=x.npy", "y=y.npy"]}
FLOATS = {"source": "npy", "files": ["x=x.npy", "y=floats3.npy"], "limit": 48}
GAN = {
    "model": None,
    "optimizer": None,
    "data": {"source": "glyphs", "count": 32, "size": 64, "classes": 4},
    "inputs": {"y": "label"},
    "networks": {
        "generator": {"model": "dcgan_generator(latent=8,width=2,channels=1)"},
        "critic": {"model": "dcgan_discriminator(width=2,channels=1)"},
    },
    "phases": [
        {"learns": "critic", "loss": "bce(critic(x), 1)"},
        {"learns": "generator", "loss": "bce(critic(generator(z)), 1)"},
    ],
    "noise": {"z": {"shape": [8, 1, 1]}},
}


def gan(**changes):
    return GAN | changes


def phase(loss, learns="critic"):
    return gan(phases=[{"learns": learns, "loss": loss}])


def csv(file, **more):
    return {"data": {"source": "csv", "file": file} | more}


# What differs from BASE (None: left out), exit code, words of the message.
CASES = {
    # Keys and values.
    "unknown key": ({"batchsize": 8}, 2, ["[job]", "line", "batchsize", "batch_size"]),
    "unknown key inside": ({"eval": {"evry": 3}}, 2, ["eval.evry", "every", "line"]),
    "lr as text": ({"optimizer": {"kind": "sgd", "lr": "fast"}}, 2, ["lr", "fast", "line"]),
    "lr is negative": ({"optimizer": {"kind": "sgd", "lr": -1}}, 2, ["lr", "-1"]),
    "lr is nan": ({"optimizer": {"kind": "sgd", "lr": "nan"}}, 2, ["lr", "nan"]),
    "unknown optimizer": ({"optimizer": {"kind": "adamm"}}, 2, ["adamm", "adam", "HINT"]),
    "value of another optimizer": (
        {"optimizer": {"kind": "sgd", "beta1": 0.5}}, 2, ["beta1", "sgd"],
    ),
    "unknown schedule": ({"schedule": "cosin(steps=9)"}, 2, ["schedule", "cosin", "cosine"]),
    "schedule of a strange value": ({"schedule": "cosine(step=9)"}, 2, ["schedule", "steps"]),
    "unknown loss": ({"loss": "cros_entropy"}, 2, ["loss: ", "cros_entropy", "cross_entropy"]),
    "unknown device": ({"device": "gpu9"}, 2, ["gpu9", "cpu"]),
    "steps of zero": ({"steps": 0}, 2, ["steps", "0", "at least 1"]),
    "negative epochs": ({"epochs": -2}, 2, ["epochs", "-2"]),
    "epochs beyond counting": ({"epochs": 9 * 10**18}, 2, ["[job]", "9000000000000000000"]),
    "output without a loss": ({"output": "logits"}, 2, ["output", "loss", "HINT"]),
    "target without a loss": ({"target": "y"}, 2, ["target", "loss", "HINT"]),
    "no length": ({"epochs": None}, 2, ["steps", "epochs", "HINT"]),
    "batch of zero": ({"batch_size": 0}, 2, ["batch_size", "0"]),
    "accumulate does not divide": ({"accumulate": 3}, 2, ["accumulate", "3", "8"]),
    "negative clip": ({"clip": -1}, 2, ["clip.norm", "-1"]),
    "ema of one": ({"ema": 1}, 2, ["ema", "below 1"]),
    "unknown precision": ({"precision": "f16"}, 2, ["precision", "f16", "bf16"]),
    "half of doubles": ({"precision": "bf16", "dtype": "f64"}, 2, ["precision", "f32"]),
    "strange limit": ({"memory_limit": "4Gb"}, 2, ["memory_limit", "4Gb"]),
    "on_nan of a strange word": ({"on_nan": "ignore"}, 2, ["on_nan", "ignore", "skip"]),
    "keep none": ({"checkpoint": {"keep": 0}}, 2, ["checkpoint.keep", "0"]),
    "group of no parameters": (
        {"groups": [{"pattern": "conv*", "lr": 1}]}, 2, ["conv*", "parameter"],
    ),
    "freeze of no parameters": ({"freeze": ["conv*"]}, 2, ["conv*", "parameter"]),
    "freeze everything": ({"freeze": ["*"]}, 2, ["freeze"]),
    "unknown initialiser": ({"init": {"*": "normall"}}, 2, ["normall", "normal"]),
    "several mistakes": ({"seed": -1, "epochs": 0}, 2, ["seed", "epochs"]),
    # Models.
    "no model": ({"model": None}, 2, ["model", "missing", "HINT"]),
    "unknown model": ({"model": "mpl"}, 2, ["[model]", "mpl", "mlp"]),
    "unknown size": ({"model": "mlp(hiden=8)"}, 2, ["[model]", "hiden", "hidden"]),
    "missing model file": ({"model": "none.pt2"}, 1, ["none.pt2", "HINT"]),
    "model file is text": ({"model": "junk.pt2"}, 1, ["junk.pt2"]),
    "model file is cut": ({"model": "cut.pt2"}, 1, ["cut.pt2"]),
    "exported with one batch size": (
        {"model": "fixed.pt2", "loss": "cross_entropy", "data": NPY, "batch_size": 16},
        1, ["fixed.pt2", "HINT"],
    ),
    "exported with one batch size, rest": (
        {"model": "fixed.pt2", "loss": "cross_entropy", "data": NPY}, 2, ["drop_last", "2 rows"],
    ),
    "which output": (
        {"model": "fixed.pt2", "loss": "cross_entropy", "output": "7", "data": NPY,
         "drop_last": True},
        1, ["7"],
    ),
    "exported without a loss": ({"model": "fixed.pt2", "data": NPY}, 1, ["fixed.pt2", "loss"]),
    "target that no field is": (
        {"model": "fixed.pt2", "loss": "cross_entropy", "target": "t", "data": NPY,
         "drop_last": True},
        1, ["t"],
    ),
    "init file is missing": ({"init": "none.safetensors"}, 1, ["none.safetensors", "HINT"]),
    "init file of another model": ({"init": "other.safetensors"}, 2, ["other.safetensors"]),
    # Data.
    "unknown source": ({"data": {"source": "cvs"}}, 2, ["cvs", "csv"]),
    "unknown option of a source": (
        csv("table.csv", seperator="tab"), 2, ["seperator", "separator"],
    ),
    "option of another kind": (csv("table.csv", limit="few"), 2, ["limit", "few"]),
    "source without its file": ({"data": {"source": "csv"}}, 2, ["csv", "file"]),
    "missing data": (csv("none.csv"), 1, ["none.csv", "HINT"]),
    "data are a folder": (csv("folder"), 1, ["folder", "directory"]),
    "no samples": (csv("empty.csv"), 1, ["empty.csv"]),
    "only a header": (csv("header.csv"), 1, ["header.csv"]),
    "no samples of an array": (
        {"data": {"source": "npy", "files": ["x=x0.npy", "y=y0.npy"]}}, 1, ["x0.npy"],
    ),
    "table with a hole": (csv("hole.csv"), 1, ["hole.csv", "line 2"]),
    "batch above the data": (
        {"batch_size": 64, "drop_last": True}, 2, ["64", "50", "drop_last", "HINT"],
    ),
    "too few classes": (csv("table.csv", classes=2), 1, ["table.csv", "2"]),
    "label out of range": (
        {"data": NPY | {"classes": 2}}, 1, ["y.npy", "2"],
    ),
    "wrong class count": ({"model": "mlp(classes=2)"}, 2, ["2 classes", "'y' has 3"]),
    "labels are floats": (
        {"data": {"source": "npy", "files": ["x=x.npy", "y=floats.npy"]}}, 2,
        ["'y'", "i64", "f32"],
    ),
    "inputs are whole numbers": (
        {"data": {"source": "npy", "files": ["x=whole.npy", "y=y.npy"]}}, 2,
        ["'x'", "f32", "i64"],
    ),
    "sizes that do not fit": ({"model": "mlp(features=7)"}, 2, ["[data]", "'x'", "7", "4"]),
    "images for a table": (
        {"data": {"source": "glyphs", "count": 64}}, 2, ["[data]", "'x'", "HINT"],
    ),
    "different lengths": (
        {"data": {"source": "npy", "files": ["x=x.npy", "y=short.npy"]}}, 1, ["short.npy"],
    ),
    "a field is missing": (
        {"data": {"source": "npy", "files": ["x=x.npy"]}}, 2, ["'y'", "field", "HINT"],
    ),
    "inputs of an unknown field": (
        {"inputs": {"z": "x"}}, 2, ["[inputs]", "'z'"],
    ),
    "inputs of an unknown argument": (
        {"inputs": {"x": "pixels"}}, 2, ["pixels", "'x'"],
    ),
    "two fields for one argument": (
        {"inputs": {"x": "a", "y": "a"}}, 2, ["inputs.y", "'a'"],
    ),
    "array is text": (
        {"data": {"source": "npy", "files": ["x=table.csv", "y=y.npy"]}}, 1, ["table.csv"],
    ),
    "array is cut": (
        {"data": {"source": "npy", "files": ["x=cut.npy", "y=y.npy"]}}, 1, ["cut.npy"],
    ),
    "safetensors are cut": (
        {"data": {"source": "safetensors", "file": "cut.safetensors"}}, 1, ["cut.safetensors"],
    ),
    "IDX is cut": (
        {"data": {"source": "idx", "images": "cut.idx", "labels": "labels.idx"}}, 1,
        ["cut.idx", "byte"],
    ),
    "IDX is compressed": (
        {"data": {"source": "idx", "images": "packed.idx", "labels": "labels.idx"}}, 1,
        ["packed.idx", "gunzip"],
    ),
    "CIFAR is cut": (
        {"data": {"source": "cifar10", "folder": "cifar"}}, 1, ["data_batch_1.bin"],
    ),
    "text is too short": (
        {"model": "transformer_lm(width=8,heads=1,layers=1)",
         "data": {"source": "text", "file": "short.txt", "length": 64}}, 1, ["short.txt"],
    ),
    "tokens are odd": (
        {"model": "transformer_lm(width=8,heads=1,layers=1)",
         "data": {"source": "tokens", "file": "odd.bin", "vocab": 300, "length": 4}}, 1,
        ["odd.bin"],
    ),
    "augmented table": (csv("table.csv", augment={"flip": True}), 2, ["augment", "table.csv"]),
    "unknown augmentation": (
        {"model": "lenet", "data": {"source": "glyphs", "count": 64, "augment": {"flop": True}}},
        2, ["flop", "flip"],
    ),
    # Evaluation.
    "unknown metric": ({"eval": EVAL | {"metrics": ["acuracy"]}}, 2, ["acuracy", "accuracy"]),
    "metric that does not fit": (
        {"eval": {"data": FLOATS, "metrics": ["accuracy"]}, "model": "fixed.pt2", "loss": "mse",
         "data": FLOATS, "drop_last": True},
        2, ["[metrics]", "accuracy", "HINT"],
    ),
    "early stop by nothing": (
        {"eval": EVAL | {"early_stop": {"metric": "acuracy", "patience": 2}}}, 2,
        ["eval.early_stop.metric", "acuracy", "accuracy"],
    ),
    "best by nothing": (
        {"eval": EVAL, "checkpoint": {"best": "top1"}}, 2, ["checkpoint.best", "top1", "HINT"],
    ),
    "early stop without data": (
        {"eval": {"early_stop": {"patience": 2}}}, 2, ["early_stop", "eval.data"],
    ),
    "best without data": ({"checkpoint": {"best": "loss"}}, 2, ["checkpoint.best", "eval.data"]),
    "eval of other fields": (
        {"eval": {"data": {"source": "glyphs", "count": 8}}}, 2, ["[data]", "eval", "[1, 28, 28]"],
    ),
    "eval of more classes": (
        {"model": "mlp(classes=2)", "eval": {"data": {"source": "csv", "file": "more.csv"}}},
        2,
        ["takes 2 classes"],
    ),
    "eval of no samples": (
        {"eval": {"data": {"source": "csv", "file": "header.csv"}}}, 1, ["header.csv"],
    ),
    # Several networks.
    "unknown network learns": (phase("bce(critic(x), 1)", "critik"), 2, ["critik", "critic"]),
    "unknown network in a loss": (phase("bce(critik(x), 1)"), 2, ["critik", "critic"]),
    "unknown input in a loss": (phase("bce(critic(w), 1)"), 2, ["'w'", "HINT"]),
    "loss with an open parenthesis": (phase("bce(critic(x), 1"), 2, ["loss: ", "')'", "its end"]),
    "loss with a strange sign": (phase("bce(critic(x), 1) / 2"), 2, ["loss: ", "at '/ 2'"]),
    "loss of many numbers": (phase("critic(x)"), 2, ["[loss]", "one number", "8"]),
    "loss of one operand": (phase("bce(critic(x))"), 2, ["[loss]", "bce", "1"]),
    "loss with a value by name": (phase("bce(critic(x), 1, pos_weight=x)"), 2, ["pos_weight"]),
    "loss without the learner": (
        phase("bce(critic(x), 1)", "generator"), 2, ["generator"],
    ),
    "network without its input": (phase("bce(critic(), 1)"), 2, ["critic", "'x'"]),
    "network with one input too many": (phase("bce(critic(x, x), 1)"), 2, ["critic", "'y'"]),
    "network of another input": (phase("bce(critic(z), 1)"), 2, ["critic"]),
    "noise without a shape": (gan(noise={"z": {}}), 2, ["noise.z.shape", "HINT"]),
    "noise of a strange kind": (
        gan(noise={"z": {"shape": [8, 1, 1], "kind": "pink"}}), 2, ["noise.z.kind", "pink"],
    ),
    "noise with a field's name": (
        gan(noise={"z": {"shape": [8, 1, 1]}, "x": {"shape": [3]}}), 2, ["noise.x"],
    ),
    "noise without phases": ({"noise": {"z": {"shape": [3]}}}, 2, ["noise", "phases"]),
    "phases without networks": (gan(networks=None), 2, ["networks"]),
    "networks without phases": (gan(phases=None), 2, ["phases"]),
    "networks and a model": (gan(model="mlp"), 2, ["model", "networks"]),
    "networks and evaluation": (gan(eval={"every": 3}), 2, ["eval", "networks"]),
    # The machine.
    "limit too low": ({"memory_limit": 500}, 1, ["[memory]", "bytes short"]),
}  # fmt: skip


def write_tables(path):
    write_table(path / "table.csv")
    write_table(path / "more.csv", classes=5)
    (path / "empty.csv").write_text("")
    (path / "header.csv").write_text("a,b,c,d,label\n")
    (path / "hole.csv").write_text("1,2,3,4,0\n1,2,4,0\n")


def write_arrays(path):
    generator = np.random.default_rng(0)
    x = generator.random((50, 4), dtype=np.float32)
    y = np.arange(50) % 3
    arrays = {
        "x": x, "y": y, "whole": (x * 9).astype(np.int32), "floats": y.astype(np.float32),
        "floats3": generator.random((50, 3), dtype=np.float32), "short": y[:40],
        "x0": x[:0], "y0": y[:0], "minus": y - 1,
    }  # fmt: skip
    for name, array in arrays.items():
        np.save(path / f"{name}.npy", array)
    (path / "cut.npy").write_bytes((path / "x.npy").read_bytes()[:-10])
    save(path / "other.safetensors", {"head.weight": torch.zeros(2, 2)})
    save(path / "cut.safetensors", {"x": torch.from_numpy(x), "y": torch.from_numpy(y)})
    whole = (path / "cut.safetensors").read_bytes()
    (path / "cut.safetensors").write_bytes(whole[:-9])


def write_images(path):
    header = struct.pack(">IIII", 0x803, 50, 28, 28)
    (path / "cut.idx").write_bytes(header + bytes(50 * 28 * 28 - 3))
    (path / "packed.idx").write_bytes(b"\x1f\x8b\x08\x00" + bytes(60))
    (path / "labels.idx").write_bytes(struct.pack(">II", 0x801, 50) + bytes(50))
    (path / "cifar").mkdir()
    for k in range(1, 6):
        size = 3073 * 10 - (100 if k == 1 else 0)
        (path / "cifar" / f"data_batch_{k}.bin").write_bytes(bytes(size))
    (path / "cifar" / "test_batch.bin").write_bytes(bytes(3073))
    for name in ("one", "two"):
        (path / "pictures" / name).mkdir(parents=True)
        (path / "pictures" / name / "a.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(9))


def write_models(path):
    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.head = torch.nn.Linear(4, 3)

        def forward(self, x):
            return self.head(x)

    program = torch.export.export(Net(), (torch.zeros(8, 4),))
    torch.export.save(program, path / "fixed.pt2")
    (path / "junk.pt2").write_text("no archive\n")
    (path / "cut.pt2").write_bytes((path / "fixed.pt2").read_bytes()[:-200])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Files that the jobs name."""
    path = tmp_path_factory.mktemp("jobs")
    write_tables(path)
    write_arrays(path)
    write_images(path)
    write_models(path)
    (path / "folder").mkdir()
    (path / "short.txt").write_text("too short\n")
    (path / "odd.bin").write_bytes(bytes(101))
    (path / "even.bin").write_bytes(struct.pack("<50H", *range(50)))
    return path


@pytest.mark.parametrize("case", CASES)
def test_wrong_job(folder, case):
    changes, code, words = CASES[case]
    write_job(folder / "job.yaml", changes)
    before = snapshot(folder)
    checked = run_braid("validate", "job.yaml", code=code, cwd=folder)
    assert checked.stdout == ""
    check_message(checked.stderr, words)
    trained = run_braid("train", "job.yaml", "--out", "out", code=code, cwd=folder)
    assert (trained.stdout, trained.stderr) == ("", checked.stderr)
    assert snapshot(folder) == before


def test_the_table_is_long_enough():
    assert len(CASES) >= 50
