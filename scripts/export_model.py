#!/usr/bin/env python3
"""Exports a PyTorch module to a .pt2 file that Braid can train.

From the command line

    export_model.py my_package.nets.Net --set hidden=64 \\
        --inputs 'x:f32[8,3,32,32]' 'y:i64[8]<10>' --loss cross_entropy --target y --out net.pt2

or from Python: export(module, {"x": x, "y": y}, "net.pt2", loss="cross_entropy", target="y").

The module is exported in train mode as it is. Two things that torch.export
refuses are worked around: LayerDrop (no layer is dropped in the file) and the
argument checks of torch.distributions. Everything else that it refuses ends in
a message with the line of the source and what to write instead.
"""

import argparse
import ast
import contextlib
import inspect
import re
import sys

import torch
from exporting import ExportError, export, sweep
from exporting.imports import find_object, users_error

EXAMPLES = """\
inputs are NAME:TYPE[SIZES], whole numbers with their bound:
  x:f32[8,3,32,32]    normal random numbers    y:i64[8]<10>    0 to 9
  mask:bool[8,16]     true and false           x:float[8,4]    of the type in --dtype
types: f16 bf16 f32 f64 i8 i16 i32 i64 u8 bool float

examples:
  a class of your own, its loss inside forward(x, y)
    export_model.py nets.Net --set hidden=64 --inputs 'x:f32[8,16]' 'y:i64[8]<10>' --out net.pt2
  a module that gives logits, with a loss added
    export_model.py torch.nn.Linear --set in_features=4 out_features=3 \\
        --inputs 'input:f32[8,4]' 'y:i64[8]<3>' --loss cross_entropy --target y --out linear.pt2
  three widths, and widths.yaml that trains them as members
    export_model.py nets.Net --set hidden=32,64,128 --inputs 'x:f32[8,16]' --out widths.pt2
  a function that returns a module, weights from a file, any batch size
    export_model.py train.make_model --state best.safetensors --dynamic 0 \\
        --inputs 'ids:i64[8,128]<50257>' --out gpt.pt2
"""

DTYPES = {
    "f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32, "f64": torch.float64,
    "i8": torch.int8, "i16": torch.int16, "i32": torch.int32, "i64": torch.int64,
    "u8": torch.uint8, "bool": torch.bool,
}  # fmt: skip


def parse_input(text, dtype=torch.float32, generator=None):
    """'x:f32[8,4]' -> ("x", tensor); 'float' stands for `dtype`."""
    found = re.fullmatch(r"(\w+):(\w+)\[([\d,\s]*)\](?:<(\d+)>)?", text.strip())
    if not found:
        raise ExportError(
            f"input '{text}' is not NAME:TYPE[SIZES]\nHINT: x:f32[8,3,32,32] or y:i64[8]<10>"
        )
    name, kind, sizes, bound = found.groups()
    if kind != "float" and kind not in DTYPES:
        raise ExportError(f"input {name}: no type '{kind}'\nHINT: {' '.join(DTYPES)} float")
    kind = dtype if kind == "float" else DTYPES[kind]
    shape = [int(size) for size in sizes.replace(" ", "").split(",") if size]
    return name, random_input(name, kind, shape, bound, generator)


def random_input(name, dtype, shape, bound, generator):
    if dtype.is_floating_point:
        if bound:
            raise ExportError(f"input {name}: only whole numbers take a bound <{bound}>")
        return torch.randn(shape, generator=generator, dtype=torch.float64).to(dtype)
    if dtype == torch.bool:
        return torch.randint(2, shape, generator=generator).bool()
    if bound is None:
        raise ExportError(
            f"input {name}: whole numbers need a bound\nHINT: {name}:i64[8]<10> gives 0 to 9"
        )
    return torch.randint(int(bound), shape, generator=generator).to(dtype)


def parse_value(text):
    """'hidden=64' -> ("hidden", 64); what is no Python literal is a string."""
    name, equals, value = text.partition("=")
    if not equals or not name.isidentifier():
        raise ExportError(f"--set {text}: not NAME=VALUE")
    with contextlib.suppress(ValueError, SyntaxError):
        return name, ast.literal_eval(value)
    return name, value


def call(dotted, maker, values):
    """What a class or a function makes; an error inside it is shown as its own."""
    known = "takes nothing"
    with contextlib.suppress(ValueError, TypeError):  # written in C
        signature = inspect.signature(maker)
        known = f"takes {', '.join(signature.parameters)}" if signature.parameters else known
        try:
            signature.bind(**values)
        except TypeError as error:
            raise ExportError(f"{dotted}: {error}\nHINT: --set {known}") from error
    try:
        return maker(**values)
    except (Exception, SystemExit) as error:
        raise users_error(f"making {dotted} fails", error) from error


def make_module(dotted, values):
    """Builds the module; `dotted` names a class, a function or a ready module."""
    found = find_object(dotted)
    if not isinstance(found, torch.nn.Module):
        if not callable(found):
            raise ExportError(f"'{dotted}' is neither a module nor something that makes one")
        found = call(dotted, found, values)
    elif values:
        raise ExportError(f"--set: '{dotted}' is a ready module and takes no values")
    if not isinstance(found, torch.nn.Module):
        raise ExportError(f"'{dotted}' gave a {type(found).__name__}, not a module")
    return found


def load_state(module, path):
    from safetensors.torch import load_file

    try:
        state = load_file(path)
    except Exception as error:
        raise ExportError(f"--state {path}: {error}") from error
    if len(state) == 0:
        raise ExportError(f"--state {path}: holds nothing")
    try:
        module.load_state_dict(with_tied_names(module, state), strict=True)
    except RuntimeError as error:
        raise ExportError(f"--state {path}: {error}") from error


def with_tied_names(module, state):
    """A file may hold tied weights under one of their names only."""
    groups = {}
    for name, tensor in module.state_dict(keep_vars=True).items():
        groups.setdefault(id(tensor), []).append(name)
    state = dict(state)
    for names in groups.values():
        known = [name for name in names if name in state]
        for name in names if known else []:
            state.setdefault(name, state[known[0]])
    return state


def read_arguments(arguments):
    parser = argparse.ArgumentParser(
        description="Export a PyTorch module to a .pt2 file for Braid.", epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    add = parser.add_argument
    add("module", help="dotted name of a class, a function or a module")
    add("--inputs", nargs="+", required=True, metavar="INPUT", help="NAME:TYPE[SIZES]<BOUND>")
    add("--out", required=True, metavar="FILE", help="the .pt2 file to write")
    add("--set", nargs="+", default=[], action="extend", metavar="NAME=VALUE",
        help="arguments of the constructor; several values, as hidden=32,64,128, give a "
        "file for each and a job that trains all")  # fmt: skip
    add("--job", metavar="FILE",
        help="of several files: a job without model, which the new one begins with")  # fmt: skip
    add("--state", metavar="FILE", help="weights to load, safetensors")
    add("--dtype", choices=["f32", "f64", "bf16", "f16"], help="convert the module to this type")
    add("--dynamic", nargs="+", type=int, default=[], metavar="DIM",
        help="dimensions of the inputs whose size may change; 0 is the batch")  # fmt: skip
    add("--loss", metavar="NAME", help="loss to add: cross_entropy, mse, ...")
    add("--target", metavar="INPUT", help="the input that the loss compares with")
    add("--output", metavar="NAME", help="the part of the result that the loss takes")
    add("--seed", type=int, default=0, help="of weights and example inputs (0)")
    add("--check-gradients", action="store_true",
        help="compare the gradients of the export with those of the module")  # fmt: skip
    return parser.parse_args(arguments)


def run(options, settings, out):
    torch.manual_seed(options.seed)
    dtype = DTYPES[options.dtype] if options.dtype else torch.float32

    def make():
        module = make_module(options.module, dict(parse_value(text) for text in settings))
        return module.to(dtype) if options.dtype else module

    module = make()
    is_fresh = not isinstance(find_object(options.module), torch.nn.Module)
    if options.state:
        load_state(module, options.state)
    generator = torch.Generator().manual_seed(options.seed)
    inputs = dict(parse_input(text, dtype, generator) for text in options.inputs)
    return export(
        module, inputs, out, dynamic=options.dynamic, loss=options.loss,
        target=options.target, output=options.output, check_gradients=options.check_gradients,
        make=make if is_fresh and not options.state else None,
    )  # fmt: skip


def main(arguments=None):
    options = read_arguments(arguments)
    try:
        sizes = sweep.choices(options.set)
        if options.job and len(sizes) == 1:
            raise ExportError("--job is for several values: --set hidden=32,64")
        for name, settings in sizes:
            out = sweep.file_of(options.out, name)
            show(run(options, settings, out), out)
        if len(sizes) > 1:
            job = sweep.write_job([name for name, _ in sizes], options.out, options.job)
            print(f"done  {job}: {len(sizes)} members")
    except ExportError as error:
        print(f"[export_model] {error}", file=sys.stderr)
        return 2
    return 0


def show(done, out):
    for note in done.notes:
        print(f"note  {note}")
    nodes = sum(node.op == "call_function" for node in done.program.graph.nodes)
    print(f"done  {out}: {nodes} operations, {len(done.program.state_dict)} tensors")


if __name__ == "__main__":
    sys.exit(main())
