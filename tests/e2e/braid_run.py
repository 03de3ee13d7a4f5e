"""Runs the braid program and reads what it wrote."""

import json
import os
import subprocess
from pathlib import Path

from safetensors.torch import load_file, save_file


def braid_bin():
    root = Path(__file__).resolve().parent.parent.parent
    return os.environ.get("BRAID_BIN") or str(root / "build" / "braid")


def run_braid(*args, code=0, cwd=None):
    """Runs the program; the exit code must be `code`."""
    command = [braid_bin(), *map(str, args)]
    done = subprocess.run(
        command, capture_output=True, text=True, cwd=cwd, timeout=120, check=False
    )
    assert done.returncode == code, f"{command} -> {done.returncode}\n{done.stdout}{done.stderr}"
    return done


def model_text(name, sizes):
    """mlp, {hidden: 8} -> mlp(hidden=8)"""
    return f"{name}({','.join(f'{k}={v}' for k, v in sizes.items())})" if sizes else name


def step_args(model, inputs, steps, optimizer, values, out, **options):
    """The arguments of `braid step`; options by name: memory_limit -> --memory-limit."""
    args = ["step", model, "--steps", steps, "--optimizer", optimizer, "--out", out]
    args += ["--inputs", inputs] if inputs else []
    for name, value in values.items():
        args += ["--set", f"{name}={str(value).lower()}"]
    for name, value in options.items():
        args += [f"--{name.replace('_', '-')}", value]
    return [str(arg) for arg in args]


def save(path, tensors):
    """Tensors to a safetensors file, whatever their strides."""
    save_file({name: t.detach().contiguous() for name, t in tensors.items()}, path)
    return path


class Result:
    """The files of a run, or of one member."""

    def __init__(self, folder):
        self.folder = Path(folder)
        self.losses = json.loads((self.folder / "losses.json").read_text())
        self.memory = json.loads((self.folder / "memory.json").read_text())
        self.grads = load_file(self.folder / "grads.safetensors")
        self.state = load_file(self.folder / "state.safetensors")

    def raw(self):
        """The bytes of all files but memory.json, for bitwise comparison."""
        names = ("losses.json", "grads.safetensors", "state.safetensors")
        return {name: (self.folder / name).read_bytes() for name in names}


def run_step(*args, **options):
    """`braid step` to its end; the result."""
    words = step_args(*args, **options)
    run_braid(*words)
    return Result(words[words.index("--out") + 1])


def run_members(*args, code=0, **options):
    """The same with --members; one result per member."""
    words = step_args(*args, **options)
    run_braid(*words, code=code)
    out = Path(words[words.index("--out") + 1])
    count = len(list(out.glob("member-*")))
    return [Result(out / f"member-{k}") for k in range(count)]
