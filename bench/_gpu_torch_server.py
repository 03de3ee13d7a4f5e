"""PyTorch for bench/gpu.py, one process each:

    _gpu_torch_server.py WAY WORKLOAD MEMBERS PRECISION DEVICE

eager: one model, the fused Adam; graph: the same, a whole step in one CUDA graph;
compile: that, with the model compiled; streams: members in one CUDA graph, each on one of
up to 16 streams; streams-compiled: that, with code compiled once for all; vmap: members
by torch.func over stacked parameters, in one CUDA graph. PRECISION: f32, whose products
may be TF32, or bf16 by autocast. On DEVICE "cpu" nothing is recorded.

It says "loaded" when modules are imported and compiled, and waits for a line before it
does what measures the device: choosing algorithms, recording.
"""

import sys
from contextlib import nullcontext

import torch
from _serve import serve, wait_for_turn
from _torch_server import repeated
from _workloads import find_workload, models
from torch.func import functional_call, stack_module_state, vmap
from torch.nn import functional as F

MOST_STREAMS = 16
WARM_UP = 3  # steps before recording


class Discriminator(models.Discriminator):
    """With its loss in f32, since autocast refuses it."""

    def forward(self, x, y):
        real = self.main(x).view(-1)
        with torch.autocast(x.device.type, enabled=False):
            return F.binary_cross_entropy(real.float(), y)


models.ALL["dcgan_discriminator"] = Discriminator


class Setting:
    """What is trained, how and where."""

    def __init__(self, workload, members, precision, device):
        self.workload = find_workload(workload)
        self.members, self.precision, self.device = int(members), precision, device
        self.records = device == "cuda"

    def autocast(self, cached=False):
        """Casts may not be kept from step to step where steps are recorded."""
        if self.precision == "f32":
            return nullcontext()
        return torch.autocast(self.device, torch.bfloat16, cache_enabled=cached)

    def last(self, tensor):
        is_image = tensor.dim() == 4 and self.workload.channels_last
        kind = torch.channels_last if is_image else torch.contiguous_format
        return tensor.to(self.device, memory_format=kind)

    def module(self, seed, may_be_last=True):
        with torch.device(self.device):
            module = self.workload.module(seed)
        is_last = may_be_last and self.workload.channels_last
        return module.to(memory_format=torch.channels_last) if is_last else module

    def batch(self, seed):
        return tuple(map(self.last, self.workload.batch_of(seed)))

    def adam(self, parameters):
        return torch.optim.Adam(parameters, lr=1e-3, fused=True, capturable=self.records)

    def synchronize(self):
        if self.device == "cuda":
            torch.cuda.synchronize()

    def peak_bytes(self):
        return torch.cuda.max_memory_allocated() if self.device == "cuda" else 0


def laid_as(gradient, parameter):
    """The gradient with the parameter's strides, as the fused Adam asks for."""
    pairs = zip(gradient.stride(), parameter.stride(), parameter.shape, strict=True)
    if all(mine == its or size == 1 for mine, its, size in pairs):
        return gradient
    return torch.empty_like(parameter).copy_(gradient)


class Update:
    """Adam for parameters whose gradients come from torch.autograd.grad, which leaves
    nothing behind that would tie streams together."""

    def __init__(self, setting, parameters):
        self.parameters = list(parameters)
        self.optimizer = setting.adam(self.parameters)

    def __call__(self, loss):
        gradients = torch.autograd.grad(loss, self.parameters)
        for parameter, gradient in zip(self.parameters, gradients, strict=True):
            parameter.grad = laid_as(gradient, parameter)
        self.optimizer.step()
        self.optimizer.zero_grad()


class Member:
    """One model in training. `loss` takes its state and its batch."""

    def __init__(self, setting, seed, loss=None):
        self.setting, self.batch = setting, setting.batch(seed)
        module = setting.module(seed)
        self.state = dict(module.named_parameters()) | dict(module.named_buffers())
        self.loss = loss or (lambda state, batch: module(*batch))
        self.update = Update(setting, module.parameters())

    def step(self):
        with self.setting.autocast():
            loss = self.loss(self.state, self.batch)
        self.update(loss)


def compiled_loss(setting):
    """Code for every member, whose states it takes."""
    module = setting.module(0)

    def loss(state, batch):
        return functional_call(module, state, batch)

    return torch.compile(loss, dynamic=False)


def choose_algorithms(chosen):
    """Whether cuDNN tries algorithms, or takes any; choices of the one are not kept for
    the other."""
    torch.backends.cudnn.deterministic = not chosen
    torch.backends.cudnn.benchmark = chosen


def recorded(setting, step):
    """A function that takes the step again."""
    if not setting.records:
        return step
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(WARM_UP):
            step()
    torch.cuda.current_stream().wait_stream(side)
    torch.cuda.synchronize()
    torch.cuda.empty_cache()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    return graph.replay


def on_streams(setting, members):
    """A step of all members, which share streams when there are many."""
    if not setting.records:
        return lambda: [member.step() for member in members]
    streams = [torch.cuda.Stream() for _ in range(min(len(members), MOST_STREAMS))]

    def step():
        main = torch.cuda.current_stream()
        for stream in streams:
            stream.wait_stream(main)
        for i, member in enumerate(members):
            with torch.cuda.stream(streams[i % len(streams)]):
                member.step()
        for stream in streams:
            main.wait_stream(stream)

    return step


def eager(setting):
    wait_for_turn()
    module, batch = setting.module(0), setting.batch(0)
    optimizer = torch.optim.Adam(module.parameters(), lr=1e-3, fused=True)

    def loss():
        with setting.autocast(cached=True):
            return module(*batch)

    return repeated(optimizer, loss)


def graph(setting):
    wait_for_turn()
    return recorded(setting, Member(setting, 0).step)


def streams(setting):
    wait_for_turn()
    members = [Member(setting, seed) for seed in range(setting.members)]
    return recorded(setting, on_streams(setting, members))


def compiled(setting):
    torch._dynamo.config.recompile_limit = 64  # rather than run what is not compiled
    loss = compiled_loss(setting)
    choose_algorithms(False)
    members = [Member(setting, 0, loss)]
    members[0].step()
    setting.synchronize()
    wait_for_turn()
    choose_algorithms(True)
    members += [Member(setting, seed, loss) for seed in range(1, setting.members)]
    return recorded(setting, on_streams(setting, members) if len(members) > 1 else members[0].step)


def vmapped(setting):
    wait_for_turn()
    modules = [setting.module(seed, may_be_last=False) for seed in range(setting.members)]
    parameters, buffers = stack_module_state(modules)
    base = modules[0]
    del modules
    batch = [t.to(setting.device) for t in setting.workload.batches(setting.members)]
    update = Update(setting, parameters.values())

    def loss(p, b, *tensors):
        return functional_call(base, (p, b), tensors)

    mapped = vmap(loss, randomness="different")

    def step():
        with setting.autocast():
            losses = mapped(parameters, buffers, *batch)
        update(losses.sum())

    return recorded(setting, step)


WAYS = {
    "eager": eager, "graph": graph, "compile": compiled, "streams": streams,
    "streams-compiled": compiled, "vmap": vmapped,
}  # fmt: skip


def make(way, setting):
    torch.set_float32_matmul_precision("high")
    torch.backends.cudnn.allow_tf32 = True
    choose_algorithms(True)
    step = WAYS[way](setting)

    def run(count):
        if way == "eager":
            step(count)
        else:
            for _ in range(count):
                step()
        setting.synchronize()

    run(WARM_UP)
    return run


def main():
    setting = Setting(*sys.argv[2:6])
    serve(lambda: make(sys.argv[1], setting), {"memory": setting.peak_bytes})


if __name__ == "__main__":
    main()
