"""Braid inside of this process, beside torch: the library of tests/guest.

As a program it trains alone, without torch, and writes losses and state:

    guest.py MODEL DEVICE THREADS SEED STEPS FILE
"""

import ctypes
import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent


def library_path():
    """Beside the tests of the build that is tested."""
    binary = os.environ.get("BRAID_BIN") or ROOT / "build" / "braid"
    return Path(binary).resolve().parent / "tests" / "libguest.so"


def load():
    # Without torch its libraries are new to the process, and cuDNN looks for its parts
    # among the symbols that all can see.
    mode = ctypes.DEFAULT_MODE if "torch" in sys.modules else ctypes.RTLD_GLOBAL
    library = ctypes.CDLL(str(library_path()), mode=mode)
    library.guest_error.restype = ctypes.c_char_p
    library.guest_open.argtypes = [
        ctypes.c_char_p, ctypes.c_char_p, ctypes.c_int, ctypes.c_longlong, ctypes.c_void_p]
    library.guest_step.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
    library.guest_state.argtypes = [
        ctypes.c_void_p, ctypes.c_void_p, ctypes.c_longlong, ctypes.c_void_p]
    library.guest_close.argtypes = [ctypes.c_void_p]
    return library


class Guest:
    """A model in training by Braid."""

    def __init__(self, model, device="cpu", threads=2, seed=1):
        self.library = load()
        self.handle = ctypes.c_void_p()
        self.losses = []
        self.check(self.library.guest_open(
            model.encode(), device.encode(), threads, seed, ctypes.byref(self.handle)))

    def check(self, code):
        if code != 0:
            raise RuntimeError(self.library.guest_error().decode())

    def step(self, count=1):
        for _ in range(count):
            loss = ctypes.c_double()
            self.check(self.library.guest_step(self.handle, ctypes.byref(loss)))
            self.losses.append(loss.value)

    def state(self):
        size = ctypes.c_longlong()
        self.check(self.library.guest_state(self.handle, None, 0, ctypes.byref(size)))
        content = ctypes.create_string_buffer(size.value)
        self.check(self.library.guest_state(
            self.handle, content, size.value, ctypes.byref(size)))
        return content.raw

    def result(self):
        """Losses to the last bit, and all of the state."""
        return [loss.hex() for loss in self.losses], self.state()

    def close(self):
        self.library.guest_close(self.handle)


def main():
    model, device, threads, seed, steps, file = sys.argv[1:]
    guest = Guest(model, device, int(threads), int(seed))
    guest.step(int(steps))
    losses, state = guest.result()
    guest.close()
    Path(file).write_bytes("\n".join(losses).encode() + b"\n\n" + state)


if __name__ == "__main__":
    main()
