"""Exports from the command line and from Python, refusals and their hints."""

import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file
from torch import nn
from torch.nn import functional as F

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"
sys.path.insert(0, str(SCRIPTS))
from export_model import ExportError, export, main, parse_input, parse_value  # noqa: E402
from exporting.sweep import split_values  # noqa: E402

NETS = """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self, hidden, classes=3, name="a"):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, hidden), nn.BatchNorm1d(hidden), nn.ReLU())
        self.head = nn.Linear(hidden, classes)

    def forward(self, x):
        return self.head(self.body(x))

def make(hidden=5):
    return Net(hidden)

ready = Net(6)
number = 3
"""


@pytest.fixture
def nets(tmp_path, monkeypatch):
    (tmp_path / "some_nets.py").write_text(NETS)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    yield "some_nets"
    sys.modules.pop("some_nets", None)


def run(*words):
    return main([str(word) for word in words])


INPUTS = ["--inputs", "x:f32[8,4]", "y:i64[8]<3>"]
LOSS = ["--loss", "cross_entropy", "--target", "y"]


def names(program):
    return {spec.target for spec in program.graph_signature.input_specs if spec.target}


def user_inputs(program):
    return list(program.graph_signature.user_inputs)


# ---- the command line -------------------------------------------------------


def test_class_with_loss_keeps_its_names(nets, tmp_path, capsys):
    out = tmp_path / "net.pt2"
    code = run(f"{nets}.Net", "--set", "hidden=6", *INPUTS, *LOSS, "--out", out,
               "--check-gradients")  # fmt: skip
    assert code == 0, capsys.readouterr().err
    program = torch.export.load(out)
    assert user_inputs(program) == ["x", "y"]
    assert "head.weight" in names(program) and "body.1.running_mean" in names(program)
    result = program.module()(x=torch.zeros(8, 4), y=torch.zeros(8, dtype=torch.long))
    assert result["loss"].shape == () and result["scores"].shape == (8, 3)
    assert "net.pt2" in capsys.readouterr().out


def test_program_runs_as_a_script(nets, tmp_path):
    done = subprocess.run(
        [sys.executable, SCRIPTS / "export_model.py", f"{nets}.make", "--set", "hidden=7",
         "--inputs", "x:f32[2,4]", "--out", "made.pt2"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert torch.export.load(tmp_path / "made.pt2").state_dict["head.weight"].shape == (3, 7)


def test_several_values_are_several_files_and_a_job(nets, tmp_path, capsys):
    (tmp_path / "base.yaml").write_text("data: table.csv\nepochs: 1\n")
    words = ["some_nets.Net", "--set", "hidden=4,8", "classes=2", "--inputs", "x:f32[5,4]",
             "--dynamic", "0", "--out", str(tmp_path / "net.pt2")]  # fmt: skip
    assert main([*words, "--job", str(tmp_path / "base.yaml")]) == 0
    assert "base-sweep.yaml: 2 members" in capsys.readouterr().out
    for hidden in (4, 8):
        program = torch.export.load(tmp_path / f"net-hidden={hidden}.pt2")
        assert program.state_dict["head.weight"].shape == (2, hidden)
    assert (tmp_path / "base-sweep.yaml").read_text() == (
        "data: table.csv\nepochs: 1\nmembers:\n"
        "  - {name: 'hidden=4', model: './net-hidden=4.pt2'}\n"
        "  - {name: 'hidden=8', model: './net-hidden=8.pt2'}\n"
    )
    assert main(words) == 0
    assert "members:" in (tmp_path / "net.yaml").read_text()
    (tmp_path / "base.yaml").write_text("model: lenet\n")
    assert main([*words, "--job", str(tmp_path / "base.yaml")]) == 2
    assert "has a model or members already" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("32,64", ["32", "64"]),
        ("[32,64]", ["[32,64]"]),
        ("(32,64)", ["(32,64)"]),
        ("relu,gelu", ["relu", "gelu"]),
        ("'a','b'", ["'a'", "'b'"]),
        ("a b,c", ["a b,c"]),
        ("1e-3", ["1e-3"]),
        ("[1,2],[3]", ["[1, 2]", "[3]"]),
    ],
)
def test_values_behind_commas_are_several(text, values):
    assert split_values(text) == values


def test_ready_module_and_dtype(nets, tmp_path):
    out = tmp_path / "m.pt2"
    assert run(f"{nets}.ready", "--dtype", "f64", "--inputs", "x:float[2,4]", "--out", out) == 0
    state = torch.export.load(out).state_dict
    assert state["head.weight"].dtype == torch.float64
    assert state["body.1.num_batches_tracked"].dtype == torch.int64


def test_state_is_loaded(nets, tmp_path):
    weights = {"in_proj": torch.full((3, 4), 2.0), "bias": torch.arange(3.0)}
    save_file({"weight": weights["in_proj"], "bias": weights["bias"]}, tmp_path / "w.safetensors")
    out = tmp_path / "l.pt2"
    words = ["--set", "in_features=4", "out_features=3", "--inputs", "input:f32[2,4]"]
    words += ["--state", tmp_path / "w.safetensors", "--out", out]
    assert run("torch.nn.Linear", *words) == 0
    state = torch.export.load(out).state_dict
    assert torch.equal(state["weight"], weights["in_proj"])
    assert torch.equal(state["bias"], weights["bias"])


def test_dynamic_batch_takes_other_sizes(nets, tmp_path):
    out = tmp_path / "d.pt2"
    assert run(f"{nets}.make", *INPUTS, *LOSS, "--dynamic", 0, "--out", out) == 0
    module = torch.export.load(out).module()
    result = module(x=torch.zeros(5, 4), y=torch.zeros(5, dtype=torch.long))
    assert result["scores"].shape == (5, 3)
    assert run(f"{nets}.make", *INPUTS, *LOSS, "--out", out) == 0
    with pytest.raises(AssertionError):
        torch.export.load(out).module()(x=torch.zeros(5, 4), y=torch.zeros(5, dtype=torch.long))


@pytest.mark.parametrize(
    "words, said",
    [
        (["nowhere.Net"], "no module 'nowhere'"),
        (["some_nets.Nett"], "has no 'Nett'"),
        (["some_nets.Nett"], "HINT: did you mean 'Net'?"),
        (["some_nets.py"], "'some_nets' has no 'py'"),
        (["./some_nets.py"], "HINT: nets.Net is the class Net in nets.py"),
        (["some_nets.number"], "neither a module"),
        (["some_nets.Net"], "--set takes hidden, classes, name"),
        (["some_nets.ready", "--set", "a=1"], "takes no values"),
        (["some_nets.make", "--set", "hidden"], "not NAME=VALUE"),
        (["some_nets.make", "--loss", "cross_entropy"], "needs --target"),
        (["some_nets.make", "--loss", "cros", "--target", "y"], "no loss 'cros'"),
        (["some_nets.make", *LOSS[:2], "--target", "z"], "none of the inputs: x, y"),
        (["some_nets.make"], "the module itself fails"),  # forward takes no y
        (["some_nets.make", "--state", "none.safetensors"], "--state none.safetensors"),
    ],
)
def test_mistakes_are_named(nets, tmp_path, capsys, words, said):
    out = tmp_path / "x.pt2"
    assert run(*words, *INPUTS, "--out", out) == 2
    error = capsys.readouterr().err
    assert said in error and "Traceback" not in error
    assert not out.exists()


def test_state_with_other_names_is_refused(nets, tmp_path, capsys):
    save_file({"head.weight": torch.zeros(3, 5)}, tmp_path / "w.safetensors")
    words = [f"{nets}.make", "--state", tmp_path / "w.safetensors", *INPUTS, *LOSS]
    assert run(*words, "--out", tmp_path / "x.pt2") == 2
    assert "body.0.weight" in capsys.readouterr().err


# ---- inputs and values ------------------------------------------------------


def test_inputs_have_their_type_size_and_range():
    name, x = parse_input("x:bf16[2, 3]")
    assert (name, x.dtype, tuple(x.shape)) == ("x", torch.bfloat16, (2, 3))
    _, y = parse_input("y:i32[1000]<7>")
    assert y.dtype == torch.int32 and set(y.tolist()) == set(range(7))
    _, mask = parse_input("m:bool[100]")
    assert mask.dtype == torch.bool and 0 < int(mask.sum()) < 100
    assert parse_input("s:f32[]")[1].shape == ()
    assert parse_input("z:float[3]", torch.float64)[1].dtype == torch.float64


@pytest.mark.parametrize("text", ["x", "x:f32", "x:f33[2]", "x:f32[a]", "y:i64[4]", "x:f32[2]<4>"])
def test_bad_inputs_are_refused(text):
    with pytest.raises(ExportError):
        parse_input(text)


def test_values_are_python_literals_or_text():
    assert parse_value("a=(1, 2.5)") == ("a", (1, 2.5))
    assert parse_value("kind=relu") == ("kind", "relu")
    assert parse_value("flag=False") == ("flag", False)


# ---- the library ------------------------------------------------------------


class Scores(nn.Module):
    def __init__(self):
        super().__init__()
        self.out = nn.Linear(4, 3)

    def forward(self, x):
        return {"scores": self.out(x), "other": x}


def test_output_is_picked_and_forward_restored():
    module = Scores()
    inputs = {"x": torch.randn(2, 4), "y": torch.randn(2, 3)}
    with pytest.raises(ExportError, match="a dict with scores, other\nHINT: .* --output"):
        export(module, inputs, loss="mse", target="y")
    done = export(module, inputs, loss="mse", target="y", output="scores", check_gradients=True)
    result, scores = done.program.module()(**inputs), module.out(inputs["x"])
    assert torch.equal(result["loss"], F.mse_loss(scores, inputs["y"]))
    assert torch.equal(result["scores"], scores)
    assert isinstance(module(inputs["x"]), dict)


class OneOfItsKind(nn.Linear):
    def forward(self, input):
        return {"sample": super().forward(input)}


def test_the_only_tensor_of_a_result_is_what_is_compared():
    inputs = {"input": torch.randn(2, 4), "y": torch.randn(2, 3)}
    done = export(OneOfItsKind(4, 3), inputs, loss="mse", target="y")
    assert done.program.module()(**inputs)["scores"].shape == (2, 3)


def test_scores_per_token_meet_labels_per_token():
    module = nn.Linear(4, 3)
    inputs = {"input": torch.randn(2, 5, 4), "y": torch.randint(3, (2, 5))}
    done = export(module, inputs, loss="cross_entropy", target="y")
    want = F.cross_entropy(module(inputs["input"]).transpose(1, 2), inputs["y"])
    result = done.program.module()(**inputs)
    torch.testing.assert_close(result["loss"], want)
    assert result["scores"].shape == (2, 5, 3)


def test_modes_and_buffers_are_left_alone():
    module = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4))
    module.eval()
    module[0].train()
    before = {k: v.clone() for k, v in module.state_dict().items()}
    done = export(module, {"input": torch.randn(6, 4)}, check_gradients=True)
    assert [module.training, module[0].training, module[1].training] == [False, True, False]
    assert all(torch.equal(v, before[k]) for k, v in module.state_dict().items())
    node = next(n for n in done.program.graph.nodes if "batch_norm" in str(n.target))
    assert node.args[5] is True


class Counting(nn.Module):
    def __init__(self):
        super().__init__()
        self.out = nn.Linear(4, 1)
        self.register_buffer("kept", torch.zeros(4))
        self.register_buffer("passing", torch.zeros(4), persistent=False)

    def forward(self, x):
        self.kept += x.detach().mean(0)
        self.passing += 1
        return self.out(x + self.kept + self.passing).mean()


def test_gradient_check_leaves_buffers_of_the_file_alone(tmp_path):
    module = Counting()
    export(module, {"x": torch.randn(6, 4)}, tmp_path / "c.pt2", check_gradients=True)
    loaded = torch.export.load(tmp_path / "c.pt2")
    values = [module.kept, module.passing, loaded.state_dict["kept"], loaded.constants["passing"]]
    assert not any(bool(value.any()) for value in values)


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.out = nn.Embedding(5, 4), nn.Linear(4, 5, bias=False)
        self.out.weight = self.embed.weight

    def forward(self, ids):
        return F.cross_entropy(self.out(self.embed(ids)), ids)


def test_tied_weights_pass_the_gradient_check():
    export(Tied(), {"ids": torch.randint(5, (6,))}, check_gradients=True)


def test_part_in_eval_mode_stays_so():
    module = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4))
    module[1].eval()
    done = export(module, {"input": torch.randn(6, 4)})
    node = next(n for n in done.program.graph.nodes if "batch_norm" in str(n.target))
    assert node.args[5] is False


class Dropped(nn.Module):
    """LayerDrop as transformers writes it, and dropout in the same module."""

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(4, 4) for _ in range(2)])
        self.layerdrop = 0.5

    def forward(self, x):
        x = F.dropout(x, 0.25, training=self.training)
        for layer in self.layers:
            if self.training and torch.rand([]) < self.layerdrop:
                continue
            x = layer(x)
        return x.square().mean()


def test_layerdrop_is_left_out_but_dropout_stays():
    done = export(Dropped(), {"x": torch.randn(3, 4)})
    targets = [str(n.target) for n in done.program.graph.nodes]
    assert targets.count("aten.linear.default") == 2
    dropout = next(n for n in done.program.graph.nodes if "dropout" in str(n.target))
    assert dropout.args[1:] == (0.25, True)
    assert not any("rand" in target for target in targets)
    assert done.notes == ["LayerDrop is left out: Dropped"]
    assert torch.rand([]).shape == ()


class Gaussian(nn.Module):
    def __init__(self):
        super().__init__()
        self.out = nn.Linear(3, 2)

    def forward(self, x, y):
        mean, scale = self.out(x).unbind(-1)
        return -torch.distributions.Normal(mean, F.softplus(scale)).log_prob(y).mean()


def test_argument_checks_of_distributions_are_off_meanwhile():
    before = torch.distributions.Distribution._validate_args
    inputs = {"x": torch.randn(4, 3), "y": torch.randn(4)}
    export(Gaussian(), inputs, check_gradients=True)
    assert torch.distributions.Distribution._validate_args == before


# ---- refusals ---------------------------------------------------------------


class Branch(nn.Linear):
    def forward(self, x):
        if x.sum() > 0:  # the refused line
            x = -x
        return super().forward(x).sum()


class Selection(nn.Linear):
    def forward(self, x):
        h = super().forward(x)
        return h[h > 0].sum()  # the doubtful line


class Split(nn.Linear):
    def forward(self, x):
        h = super().forward(x)
        return sum(row.sum() for row in h[h.sum(1).nonzero()])  # the refused line


class Numpy(nn.Linear):
    def forward(self, x):
        scale = float(x.detach().numpy().mean())  # the refused line
        return super().forward(x).sum() * scale


class Cumulative(nn.Module):
    def __init__(self, *sizes):
        super().__init__()
        self.norm = nn.BatchNorm1d(4, momentum=None)

    def forward(self, x):
        return self.norm(x).sum()  # the refused line


class CausalMask(nn.Module):
    def __init__(self, *sizes):
        super().__init__()
        layer = nn.TransformerEncoderLayer(4, 2, 8, batch_first=True)
        self.net = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)

    def forward(self, x):
        mask = torch.triu(torch.ones(3, 3, dtype=torch.bool), 1)
        return self.net(x[None], mask=mask).sum()  # the refused line


@pytest.mark.parametrize(
    "module, why, hint",
    [
        (Branch, "value of a tensor", "torch.where"),
        (Split, "size of a result", "mask"),
        (Numpy, "numpy", "torch functions"),
        (Cumulative, "momentum=None", "give it a momentum"),
        (CausalMask, "causal", "is_causal"),
    ],
)
def test_refused_line_and_way_out_are_named(module, why, hint):
    with pytest.raises(ExportError) as caught:
        export(module(4, 2), {"x": torch.randn(3, 4)})
    text = str(caught.value)
    assert why in text and hint in text.split("HINT: ")[1]
    assert f"{__file__}:" in text and "# the refused line" in text


def test_size_by_data_is_noted():
    done = export(Selection(4, 2), {"x": torch.randn(3, 4)})
    (note,) = done.notes
    assert "depends on data" in note and "# the doubtful line" in note


class AnyInputs(nn.Linear):
    def forward(self, **inputs):
        return (super().forward(inputs["a"]) * inputs["b"]).sum()


def test_dynamic_sizes_of_keyword_inputs():
    done = export(AnyInputs(4, 2), {"a": torch.randn(3, 4), "b": torch.randn(3, 1)}, dynamic=[0])
    assert done.program.module()(a=torch.ones(7, 4), b=torch.ones(7, 1)).shape == ()


def test_failure_of_the_module_itself_is_told_apart():
    with pytest.raises(ExportError, match="the module itself fails") as caught:
        export(Branch(4, 2), {"x": torch.randn(3, 5)})
    assert "shapes" in str(caught.value)


class Surrogate(torch.autograd.Function):
    """A step whose backward is that of a sigmoid, as spiking networks have it."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return (x > 0).to(x.dtype)

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * x.sigmoid() * (1 - x.sigmoid())


class Spiking(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Linear(4, 8), nn.Linear(8, 1)

    def forward(self, x):
        return self.last(Surrogate.apply(self.first(x))).square().mean()


def test_lost_backward_is_found():
    inputs = {"x": torch.randn(6, 4)}
    export(Spiking(), inputs)
    with pytest.raises(ExportError, match="first.weight") as caught:
        export(Spiking(), inputs, check_gradients=True)
    assert "autograd.Function" in str(caught.value)


def test_nothing_is_written_when_the_gradients_differ(tmp_path):
    with pytest.raises(ExportError):
        export(Spiking(), {"x": torch.randn(6, 4)}, tmp_path / "s.pt2", check_gradients=True)
    assert not (tmp_path / "s.pt2").exists()


def test_check_passes_with_dropout_and_changing_buffers():
    module = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.5), nn.BatchNorm1d(8), nn.Linear(8, 1))
    export(module, {"input": torch.randn(6, 4)}, check_gradients=True)


# What a module's own file does wrong when it is imported, what is said of it,
# and the line that is shown.
BROKEN_MODULES = {
    "missing package": ("import torch\nimport no_such_package\n", "no_such_package", 2),
    "missing name": ("from torch import nn, no_such_name\n", "cannot import name", 1),
    "no name given": ("raise ModuleNotFoundError('by hand')\n", "by hand", 1),
    "any error": ("x = 1\n\ny = {}['key']\n", "KeyError: 'key'", 3),
    "syntax": ("x = 1\ndef f(:\n", "SyntaxError", 2),
    "exit": ("import sys\nsys.exit(3)\n", "SystemExit: 3", 2),
}


@pytest.mark.parametrize("name", BROKEN_MODULES)
@pytest.mark.parametrize("through", [False, True], ids=["itself", "what it imports"])
def test_errors_of_a_modules_own_import_are_shown(nets, tmp_path, capsys, name, through):
    text, said, line = BROKEN_MODULES[name]
    (tmp_path / "broken_nets.py").write_text(text)
    (tmp_path / "outer_nets.py").write_text("\nfrom broken_nets import Net\n")
    module = "outer_nets" if through else "broken_nets"
    assert run(f"{module}.Net", *INPUTS, "--out", tmp_path / "a.pt2") == 2
    shown = capsys.readouterr().err
    assert f"[export_model] importing '{module}' fails" in shown
    assert said in shown
    assert f"{tmp_path / 'broken_nets.py'}:{line}: " in shown
    assert (f"{tmp_path / 'outer_nets.py'}:2: from broken_nets import Net" in shown) == through
    assert "importlib" not in shown and "Traceback" not in shown


def test_errors_of_a_constructor_are_its_own(nets, tmp_path, capsys):
    text = "from torch import nn\n\nclass Net(nn.Module):\n    def __init__(self, size=4):\n"
    text += "        super().__init__()\n        self.fc = nn.Linear(size, 'three')\n"
    (tmp_path / "bad_nets.py").write_text(text)
    assert run("bad_nets.Net", *INPUTS, "--out", tmp_path / "a.pt2") == 2
    shown = capsys.readouterr().err
    assert "[export_model] making bad_nets.Net fails" in shown
    assert f"{tmp_path / 'bad_nets.py'}:6: self.fc = nn.Linear(size, 'three')" in shown
    assert "TypeError" in shown and "--set" not in shown
    assert run("bad_nets.Net", "--set", "width=3", *INPUTS, "--out", tmp_path / "a.pt2") == 2
    assert "--set takes size" in capsys.readouterr().err
