"""PyTorch for bench/arrays_cpu.py, one process each:

    _torch_server.py KIND WORKLOAD MEMBERS THREADS

eager: one model, Adam as it comes; fused: the same with the fused Adam; vmap:
all members by torch.func, over stacked parameters; peak: prints the most bytes
that one model in training holds, by the allocator of libcounting.
"""

import ctypes
import os
import sys
from pathlib import Path

import torch
from _serve import serve
from _workloads import ROOT, WORKLOADS
from torch.func import functional_call, stack_module_state, vmap

BUILD = Path(os.environ.get("BRAID_BUILD", ROOT / "build"))


def repeated(optimizer, loss):
    def run(count):
        for _ in range(count):
            optimizer.zero_grad(set_to_none=True)
            loss().backward()
            optimizer.step()

    return run


def eager(workload, fused):
    module, batch = workload.module(), workload.batch_of()
    optimizer = torch.optim.Adam(module.parameters(), fused=fused or None)
    return repeated(optimizer, lambda: module(*batch))


def fused_members(workload, members):
    modules = [workload.module(seed) for seed in range(members)]
    parameters, buffers = stack_module_state(modules)
    batch = workload.batches(members)
    base = modules[0]

    def loss(p, b, *tensors):
        return functional_call(base, (p, b), tensors)

    mapped = vmap(loss, randomness="different")
    optimizer = torch.optim.Adam(list(parameters.values()), fused=True)
    return repeated(optimizer, lambda: mapped(parameters, buffers, *batch).sum())


def print_peak(workload):
    library = ctypes.CDLL(str(BUILD / "bench" / "libcounting.so"))
    library.peak_bytes.restype = ctypes.c_longlong
    library.install()
    eager(workload, True)(3)
    print(library.peak_bytes())


def main():
    kind, workload = sys.argv[1], WORKLOADS[sys.argv[2]]
    members, threads = int(sys.argv[3]), int(sys.argv[4])
    torch.set_num_threads(threads)
    if kind == "peak":
        print_peak(workload)
    elif kind == "vmap":
        serve(lambda: fused_members(workload, members))
    else:
        serve(lambda: eager(workload, kind == "fused"))


if __name__ == "__main__":
    main()
