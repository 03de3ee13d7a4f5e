#!/usr/bin/env python3
"""Gives the samples of a Python data set to `braid train`, one batch per request:

    data:
      source: command
      command: [python3, /path/to/feed_dataset.py, mine.Train, --set, root=/data]

NAME is an object with `len()` and `[index]`, or a class or function that makes one: a
`torch.utils.data.Dataset`, a list, anything. A sample is a dict of arrays, or a tuple of
them with the names `--fields`. Modules are found beside the job file.

Order, shuffling and resuming are Braid's: this program is asked for samples by number.
Before each, the generators of Python, NumPy and torch get a seed made of the run's seed,
the epoch and the number of the sample, so random changes repeat when a run does.
docs/streams.md has the format of what passes between.
"""

import argparse
import ast
import hashlib
import importlib
import json
import multiprocessing
import os
import random
import signal
import struct
import sys

import numpy as np

NAMES = {
    "bool": "BOOL", "uint8": "U8", "int8": "I8", "int16": "I16", "int32": "I32",
    "int64": "I64", "float16": "F16", "float32": "F32", "float64": "F64",
}  # fmt: skip
WIDER = {"uint16": "int32", "uint32": "int64"}


def find(name):
    """`package.module.Thing` or `package.module:Thing`."""
    module, _, thing = name.replace(":", ".").rpartition(".")
    if not module:
        raise ValueError(f"expected MODULE.NAME, got '{name}'")
    found = importlib.import_module(module)
    if not hasattr(found, thing):
        raise ValueError(f"the module '{module}' has no '{thing}'")
    return getattr(found, thing)


def setting(text):
    key, equals, value = text.partition("=")
    if not equals:
        raise argparse.ArgumentTypeError(f"expected KEY=VALUE, got '{text}'")
    try:
        return key, ast.literal_eval(value)
    except (ValueError, SyntaxError):
        return key, value


def open_data(name, settings):
    data = find(name)
    if callable(data) and not hasattr(data, "__getitem__") or isinstance(data, type):
        data = data(**settings)
    elif settings:
        raise ValueError(f"'{name}' is made already and takes no --set")
    for method in ("__len__", "__getitem__"):
        if not hasattr(data, method):
            raise ValueError(f"'{name}' has no {method}: samples are asked for by number")
    return data


def array_of(value):
    """Of a tensor, an array, a picture or a number; bf16 becomes f32."""
    if hasattr(value, "detach"):
        value = value.detach().cpu()
        value = (value.float() if str(value.dtype) == "torch.bfloat16" else value).numpy()
    array = np.asarray(value)
    array = array.astype(WIDER.get(array.dtype.name, array.dtype.newbyteorder("=")))
    if array.dtype.name not in NAMES:
        raise TypeError(f"expected numbers, got {type(value).__name__} ({array.dtype})")
    return np.ascontiguousarray(array).reshape(array.shape)


def frame_of(arrays, metadata):
    """A safetensors file after its length."""
    header = {"__metadata__": metadata} if metadata else {}
    position = 0
    for name, array in arrays.items():
        header[name] = {
            "dtype": NAMES[array.dtype.name],
            "shape": list(array.shape),
            "data_offsets": [position, position + array.nbytes],
        }
        position += array.nbytes
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    pieces = [struct.pack("<QQ", 8 + len(text) + position, len(text)), text]
    return b"".join(pieces + [array.tobytes() for array in arrays.values()])


class Samples:
    """Samples by number, as arrays by field."""

    def __init__(self, data, fields):
        self.data, self.fields = data, fields

    def seed(self, draw, index):
        words = struct.pack("<qqq", *draw, index)
        key = int.from_bytes(hashlib.blake2b(words, digest_size=8).digest(), "little")
        random.seed(key)
        np.random.seed(key & 0xFFFFFFFF)
        if torch := sys.modules.get("torch"):
            torch.manual_seed(key)

    def get(self, draw, index):
        self.seed(draw, index)
        try:
            sample = self.data[index]
            if not isinstance(sample, dict):
                values = sample if isinstance(sample, (tuple, list)) else (sample,)
                if len(values) > len(self.fields):
                    raise ValueError(
                        f"has {len(values)} parts, and --fields has {len(self.fields)} names"
                    )
                sample = dict(zip(self.fields, values, strict=False))
            return {str(name): array_of(value) for name, value in sample.items()}
        except Exception as error:
            problem = f"sample {index}: {type(error).__name__}: {error}"
            raise RuntimeError(problem) from error


samples = None  # of this process


def start_worker(given):
    """Whoever ends the run ends this too; Ctrl-C is for others."""
    global samples
    samples = given
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if torch := sys.modules.get("torch"):
        torch.set_num_threads(1)


def work(task):
    return samples.get(*task)


def batch_of(rows, first, indices):
    """One array per field; all samples must be like the first of the data."""
    for index, row in zip(indices, rows, strict=True):
        for name in row.keys() | first.keys():
            here, there = row.get(name), first.get(name)
            if here is None or there is None:
                raise ValueError(f"sample {index}: '{name}' is not in every sample")
            if here.shape != there.shape or here.dtype != there.dtype:
                raise ValueError(
                    f"sample {index}: '{name}' is {here.dtype} {list(here.shape)}, and of "
                    f"sample 0 {there.dtype} {list(there.shape)}; all must be alike"
                )
    return {name: np.stack([row[name] for row in rows]) for name in first}


class Server:
    def __init__(self, files, given, get_all, classes):
        self.given, self.get_all = given, get_all
        self.input, self.output = files
        self.first = given.get((0, 0), 0)
        metadata = {"braid.samples": str(len(given.data))}
        metadata |= {f"braid.classes.{name}": count for name, count in classes}
        empty = {name: a[None][:0] for name, a in self.first.items()}
        self.send(frame_of(empty, metadata))

    def send(self, frame):
        self.output.write(frame)
        self.output.flush()

    def read(self, count):
        data = self.input.read(8 * count)
        if len(data) < 8 * count:
            return None
        return struct.unpack(f"<{count}q", data)

    def answer(self, draw, indices):
        try:
            rows = self.get_all([(draw, index) for index in indices])
            return frame_of(batch_of(rows, self.first, indices), {})
        except Exception as error:
            return frame_of({}, {"braid.error": str(error)})

    def run(self):
        """Until the input ends."""
        while head := self.read(3):
            indices = self.read(head[0])
            if indices is None:
                break
            self.send(self.answer(head[1:], indices))


def own_files():
    """Input and output for frames alone: what the data set prints is none."""
    files = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    with open(os.devnull) as nothing:
        os.dup2(nothing.fileno(), 0)
    return files


def serve(arguments):
    files = own_files()
    data = open_data(arguments.name, dict(arguments.set))
    if len(data) == 0:
        raise ValueError(f"'{arguments.name}' has no samples")
    given = Samples(data, arguments.fields.split(","))
    classes = [part.split("=", 1) for part in arguments.classes]
    if arguments.workers == 0:
        start_worker(given)
        get_all = lambda tasks: [work(task) for task in tasks]  # noqa: E731
        return Server(files, given, get_all, classes).run()
    context = multiprocessing.get_context("fork")
    with context.Pool(arguments.workers, start_worker, (given,)) as pool:
        share = lambda tasks: max(1, len(tasks) // (2 * arguments.workers))  # noqa: E731
        get_all = lambda tasks: pool.map(work, tasks, share(tasks))  # noqa: E731
        return Server(files, given, get_all, classes).run()


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("name", metavar="NAME", help="MODULE.NAME of the data set")
    parser.add_argument(
        "--set", type=setting, action="append", default=[], metavar="KEY=VALUE",
        help="an argument of the class or function",
    )  # fmt: skip
    parser.add_argument("--fields", default="x,y", help="names of a tuple's parts (x,y)")
    parser.add_argument(
        "--classes", action="append", default=[], metavar="FIELD=COUNT",
        help="a field whose values lie below",
    )  # fmt: skip
    parser.add_argument("--workers", type=int, default=0, help="processes (0: this one)")
    arguments = parser.parse_args()
    sys.path.insert(0, os.getcwd())
    try:
        serve(arguments)
    except BrokenPipeError:  # who asked is gone
        os._exit(0)
    except (ValueError, ImportError, RuntimeError) as error:
        sys.exit(f"feed_dataset.py: {error}")


if __name__ == "__main__":
    main()
