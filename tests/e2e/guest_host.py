"""A process that uses torch and has Braid as its guest, see test_guest.py:

    guest_host.py DEVICE PART...

A part is a function of this file, NAME or NAME:ARGUMENT:...; what parts compute with
torch is collected for `write`.
"""

import hashlib
import sys
import threading
from pathlib import Path

import torch
from guest import Guest

DEVICE = "cpu"
STEPS = 6
results = []
kept = []  # objects that outlive their part


def on_cuda():
    return DEVICE != "cpu"


def digest(*tensors):
    whole = hashlib.sha256()
    for t in tensors:
        whole.update(t.detach().cpu().contiguous().numpy().tobytes())
    return whole.hexdigest()


def plain():
    pass


def changed():
    """Everything that would change Braid's numbers, if it were heeded."""
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True, warn_only=True)
    torch.set_default_dtype(torch.float64)
    torch.set_float32_matmul_precision("medium")
    torch.backends.cudnn.benchmark = True
    torch.backends.cudnn.allow_tf32 = True
    torch.backends.mkldnn.enabled = False


def modes():
    """Contexts that this thread never leaves."""
    for mode in (torch.autocast("cpu", torch.bfloat16), torch.no_grad()):
        mode.__enter__()
        kept.append(mode)
    if on_cuda():
        kept.append(torch.autocast("cuda", torch.bfloat16))
        kept[-1].__enter__()


def torch_trains():
    """A few steps of a small convolutional network, all in float32."""
    torch.manual_seed(3)
    f32 = {"device": DEVICE, "dtype": torch.float32}
    module = torch.nn.Sequential(
        torch.nn.Conv2d(3, 8, 3, **f32), torch.nn.ReLU(), torch.nn.Flatten(),
        torch.nn.Linear(8 * 14 * 14, 64, **f32), torch.nn.ReLU(), torch.nn.Linear(64, 10, **f32))
    x, y = torch.randn(32, 3, 16, 16, **f32), torch.arange(32, device=DEVICE) % 10
    optimizer = torch.optim.AdamW(module.parameters())
    with torch.enable_grad():
        for _ in range(4):
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(module(x), y).backward()
            optimizer.step()
    results.append(digest(*module.parameters()))


def torch_draws():
    results.append(digest(torch.rand(100), torch.rand(100, device=DEVICE)))


def nothing():
    pass


def braid(model="lenet(batch=64)", steps=STEPS):
    guest = Guest(model, DEVICE)
    guest.step(steps)
    return guest


def braid_trains():
    braid().close()


def braid_stays():
    kept.append(braid())


def braid_equals(model, file):
    for _ in range(2):  # again, when the first is gone
        guest = braid(model)
        losses, state = guest.result()
        guest.close()
        assert "\n".join(losses).encode() + b"\n\n" + state == Path(file).read_bytes()


def flags():
    found = {
        "threads": torch.get_num_threads(),
        "threads of others": in_thread(torch.get_num_threads),
        "deterministic": torch.are_deterministic_algorithms_enabled(),
        "warns": torch.is_deterministic_algorithms_warn_only_enabled(),
        "dtype": torch.get_default_dtype(),
        "matmul": torch.get_float32_matmul_precision(),
        "mkldnn": torch.backends.mkldnn.enabled,
        "mkldnn matmul": torch.backends.mkldnn.matmul.fp32_precision,
        "cuda matmul": torch.backends.cuda.matmul.fp32_precision,
        "cudnn": torch.backends.cudnn.enabled,
        "benchmark": torch.backends.cudnn.benchmark,
        "deterministic cudnn": torch.backends.cudnn.deterministic,
        "tf32": torch.backends.cudnn.allow_tf32,
        "conv": torch.backends.cudnn.conv.fp32_precision,
        "rnn": torch.backends.cudnn.rnn.fp32_precision,
        "grad": torch.is_grad_enabled(),
        "random": digest(torch.get_rng_state()),
    }
    if on_cuda():
        found["random on cuda"] = digest(torch.cuda.get_rng_state())
        found["stream"] = torch.cuda.current_stream().cuda_stream
        found["device"] = torch.cuda.current_device()
    return found


def in_thread(function):
    answer = []
    thread = threading.Thread(target=lambda: answer.append(function()))
    thread.start()
    thread.join()
    return answer[0]


def flags_stay():
    before = flags()
    guest = braid()
    assert flags() == before
    guest.close()
    assert flags() == before


def held_bytes():
    """What torch says it holds on the device; it has no such number on the CPU."""
    return torch.cuda.memory_allocated() if on_cuda() else 0


def memory_stays():
    """Tensors made before, while and after Braid is there, and freed at all times."""
    def made(value):
        return torch.full((1 << 20,), value, device=DEVICE)

    start = held_bytes()
    before = [made(1.0), made(2.0)]
    each = (held_bytes() - start) // 2
    guest = braid("mlp", 1)
    braid_holds = held_bytes() - start - 2 * each
    before.pop()
    between = [made(3.0), made(4.0)]
    guest.step()
    between.pop()
    assert held_bytes() - start == 2 * each + braid_holds
    between[0].resize_(2 << 20).resize_(1 << 20)
    after = made(5.0)
    guest.close()
    between.append(made(6.0))
    for t, value in zip([*before, *between, after], [1, 3, 6, 5], strict=True):
        assert (t == value).all()
    between[0].resize_(3 << 20)[-1] = 7
    assert between[0][-1] == 7
    del before, between, after, t
    if on_cuda():
        assert held_bytes() <= start + braid_holds
        torch.cuda.empty_cache()
        assert torch.cuda.memory_stats()["allocated_bytes.all.current"] == held_bytes()


def threads_beside():
    """torch in a thread of its own, while Braid trains in this one."""
    expected = braid("mlp")
    torch_trains()
    thread = threading.Thread(target=lambda: [torch_trains() for _ in range(5)])
    thread.start()
    found = braid("mlp")
    thread.join()
    assert found.result() == expected.result()
    if not on_cuda():  # there the switches are the process's while Braid computes
        assert len(set(results)) == 1


def write(file):
    Path(file).write_text("\n".join(results))


def main():
    global DEVICE
    DEVICE = sys.argv[1]
    for part in sys.argv[2:]:
        name, *args = part.split(":")
        globals()[name](*args)


if __name__ == "__main__":
    main()
