"""Where the weights of an exported model come from: its file, or the seed."""

import json
import math
import struct
import zipfile

import pytest
import torch
from braid_run import run_braid, save
from export_model import main as export_model
from exporting import export
from job_run import JobRun, train
from torch import nn
from torch.nn import functional as F

WORDS, WIDTH, CLASSES = 60, 24, 7


class Net(nn.Module):
    """Layers of several kinds; forward(ids, y) -> loss."""

    def __init__(self, noise=0.0):
        super().__init__()
        self.words = nn.Embedding(WORDS, WIDTH, padding_idx=2)
        self.rnn = nn.LSTM(WIDTH, WIDTH, batch_first=True)
        self.norm = nn.LayerNorm(WIDTH)
        self.head = nn.Linear(WIDTH, CLASSES)
        if noise:
            self.extra = nn.Parameter(noise * torch.randn(WIDTH))

    def forward(self, ids, y):
        h = self.norm(self.rnn(self.words(ids))[0].mean(1))
        return F.cross_entropy(self.head(h + getattr(self, "extra", 0)), y)


def example(rows):
    return {"ids": torch.randint(WORDS, (rows, 5)), "y": torch.randint(CLASSES, (rows,))}


def job_of(folder, **more):
    torch.manual_seed(4)
    file = save(folder / "data.safetensors", example(19))
    return {
        "model": str(folder / "net.pt2"),
        "data": {"source": "safetensors", "file": str(file)},
        "optimizer": {"kind": "sgd", "lr": 0.0},  # weights stay as they begin
        "batch_size": 4,
        "steps": 2,
        "threads": 1,
    } | more


def exported(folder, make=Net, recorded=True):
    torch.manual_seed(1)
    module = make()
    export(
        module, example(3), folder / "net.pt2", dynamic=[0], make=make if recorded else None
    )  # fmt: skip
    return module.state_dict()


def beginnings(folder, job, **seeds):
    """The first weights of members of one list, by name."""
    members = [{"name": name, "seed": seed} for name, seed in seeds.items()]
    (folder / "list.yaml").write_text(json.dumps(job | {"members": members}))
    done = run_braid("train", folder / "list.yaml", "--out", folder / "runs")
    return {name: JobRun(folder / "runs" / name).state() for name in seeds}, done.stdout


def test_seeds_draw_as_the_module_does(tmp_path):
    file = exported(tmp_path)
    states, said = beginnings(tmp_path, job_of(tmp_path), a=0, b=1, c=2, again=1)
    assert "whatever the seed" not in said
    for name, tensor in file.items():
        assert torch.equal(states["a"][name], tensor), f"seed 0 has {name} of the file"
        assert torch.equal(states["b"][name], states["again"][name])
        if name.startswith("norm."):
            assert torch.equal(states["b"][name], tensor)
            continue
        for one, other in ("ab", "ac", "bc"):
            assert not torch.equal(states[one][name], states[other][name]), name
    for state in (states["b"], states["c"]):
        words, head = state["words.weight"], state["head.weight"]
        assert not words[2].any(), "the row of padding is zero"
        assert words.std().item() == pytest.approx(1, rel=0.1)
        assert words.abs().max() > 2.5  # normal, not uniform
        bound = 1 / math.sqrt(WIDTH)
        assert bound * 0.9 < head.abs().max() <= bound
        assert state["rnn.bias_ih_l0"].abs().max() <= bound


def test_a_member_begins_as_the_job_alone(tmp_path):
    exported(tmp_path)
    job = job_of(tmp_path, seed=5)
    alone = train(tmp_path, job).state()
    states, _ = beginnings(tmp_path, job, x=0, y=5)
    assert alone.keys() == states["y"].keys()
    assert all(torch.equal(alone[name], states["y"][name]) for name in alone)


def test_from_says_where_weights_come_from(tmp_path):
    file = exported(tmp_path)
    kept = train(tmp_path, job_of(tmp_path, seed=5, init={"from": "file"}), out="kept").state()
    assert all(torch.equal(kept[name], file[name]) for name in file)
    drawn = train(tmp_path, job_of(tmp_path, init={"from": "seed"}), out="drawn").state()
    assert not torch.equal(drawn["head.weight"], file["head.weight"])


@pytest.mark.parametrize("verb", ["train", "validate", "step"])
def test_weights_that_seeds_share_are_told(tmp_path, verb):
    """A file of plain torch.export says nothing about its weights."""
    exported(tmp_path, recorded=False)
    (tmp_path / "job.yaml").write_text(json.dumps(job_of(tmp_path, seed=3)))
    arguments = {
        "train": ["train", tmp_path / "job.yaml", "--out", tmp_path / "out"],
        "validate": ["validate", tmp_path / "job.yaml"],
        "step": [
            "step", tmp_path / "net.pt2", "--inputs", save(tmp_path / "b.safetensors", example(3)),
            "--steps", 1, "--optimizer", "sgd", "--set", "lr=0.1", "--seed", 3,
            "--out", tmp_path / "out",
        ],
    }[verb]  # fmt: skip
    said = "all weights of net.pt2 begin as they are in the file, whatever the seed"
    assert said in run_braid(*arguments).stdout
    if verb == "train":
        assert said in (tmp_path / "out" / "log.txt").read_text()
    quiet = job_of(tmp_path, seed=3, init={"from": "file"})
    (tmp_path / "job.yaml").write_text(json.dumps(quiet))
    assert said not in run_braid("validate", tmp_path / "job.yaml").stdout


def test_what_cannot_be_drawn_is_named(tmp_path):
    exported(tmp_path, make=lambda: Net(noise=0.3))
    states, said = beginnings(tmp_path, job_of(tmp_path), a=1, b=2)
    assert "1 parameters (extra) of net.pt2 begin as they are in the file" in said
    assert torch.equal(states["a"]["extra"], states["b"]["extra"])
    assert not torch.equal(states["a"]["head.weight"], states["b"]["head.weight"])


def test_from_seed_needs_a_file_that_tells_how(tmp_path):
    exported(tmp_path, recorded=False)
    (tmp_path / "job.yaml").write_text(json.dumps(job_of(tmp_path, init={"from": "seed"})))
    done = run_braid("validate", tmp_path / "job.yaml", code=2)
    assert "does not tell how its parameters are drawn" in done.stderr


def test_the_script_records_what_is_fresh_and_only_that(tmp_path, monkeypatch):
    (tmp_path / "own_nets.py").write_text(
        "import torch\n"
        "from torch import nn\n"
        "def fresh(): return nn.Linear(40, 30)\n"
        "def seeded():\n"
        "    torch.manual_seed(7)\n"
        "    return nn.Linear(40, 30)\n"
        "ready = nn.Linear(40, 30)\n"
    )
    monkeypatch.chdir(tmp_path)
    save(tmp_path / "state.safetensors", nn.Linear(40, 30).state_dict())

    def drawn(name, *more):
        words = [f"own_nets.{name}", "--inputs", "input:f32[4,40]", "--out", "n.pt2", *more]
        assert export_model(words) == 0
        with zipfile.ZipFile("n.pt2") as file:
            parts = [p for p in file.namelist() if p.endswith("braid_init.json")]
            return json.loads(file.read(parts[0]))["drawn"] if parts else {}

    bound = 1 / math.sqrt(40)
    assert drawn("fresh").keys() == {"weight", "bias"}
    assert f"{bound}"[:8] in drawn("fresh")["weight"]
    assert drawn("seeded") == {}
    assert drawn("ready") == {}
    assert drawn("fresh", "--state", "state.safetensors") == {}


def flip_weights(path, part):
    """Changes one byte inside a part of an archive, not its checksum."""
    with zipfile.ZipFile(path) as file:
        entry = next(e for e in file.infolist() if e.filename.endswith(part))
    raw = bytearray(path.read_bytes())
    name, extra = struct.unpack_from("<HH", raw, entry.header_offset + 26)
    raw[entry.header_offset + 30 + name + extra + 5] ^= 0x40
    path.write_bytes(raw)


@pytest.mark.parametrize("verb", ["train", "validate"])
def test_damaged_weights_are_noticed(tmp_path, verb):
    exported(tmp_path)
    flip_weights(tmp_path / "net.pt2", "data/weights/weight_1")
    (tmp_path / "job.yaml").write_text(json.dumps(job_of(tmp_path)))
    more = ["--out", tmp_path / "out"] if verb == "train" else []
    done = run_braid(verb, tmp_path / "job.yaml", *more, code=1)
    assert "net.pt2: data/weights/weight_1: the checksum is wrong" in done.stderr
    assert not (tmp_path / "out").exists()
