"""Many models trained at once on one CUDA device: Braid's arrays against PyTorch (one
model after another, in a CUDA graph, compiled, on streams, by torch.func.vmap) and JAX
jit(vmap). Full training steps with Adam, each member on a batch of its own that lies in
the device's memory.

Every way is a process. All of them start and compile at once; then, for one number of
members after the other, each chooses its algorithms and records its step alone, and they
take turns in rounds. One that runs out of memory beside the others runs again alone.
Printed: model-steps per second, the median over rounds; the ratio to the faster eager and
to the best that is not Braid; the most bytes of tensors on the device; the share of the
device's bf16 peak that the model's own operations make up. Kept in --file and, for
merging, in JSON beside it.

    scripts/bench.sh gpu
    bench/gpu.py --workload mlp bert [--ways eager jax braid braid:member] [--members 1 8 32]
    bench/gpu.py --workload mlp --device cpu      shrunk, to try it
"""

import argparse
import contextlib
import datetime
import importlib.metadata
import os
import platform
import queue
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import torch
from _gpu_results import Row, block_text, keep, new_block
from _workloads import GPU_WORKLOADS, ROOT, find_workload

BUILD = Path(os.environ.get("BRAID_BUILD", ROOT / "build"))
SERVER = BUILD / "bench" / "gpu_server"
RESULTS = ROOT / "bench" / "results" / "gpu.txt"
# Those of one model come with one member, those of several with more; others with any.
SINGLE = ["eager", "eager-f32", "graph", "compile"]
SEVERAL = ["streams", "streams-compiled", "vmap", "vmap-f32"]
ANY = ["jax", "jax-f32", "braid", "braid-f32"]
# In this order they get their turns: what compiles comes late.
USUAL = ["eager-f32", "eager", "graph", "streams", "vmap", "vmap-f32", "braid", "braid-f32",
         "jax", "compile", "streams-compiled"]
MEMORY_WORDS = ("memory", "RESOURCE_EXHAUSTED", "alloc", "does not fit", "limit")


def parts_of(way):
    """Name, precision and lowering: "braid-f32:member"."""
    name, _, lowering = way.partition(":")
    return name.removesuffix("-f32"), "f32" if name.endswith("-f32") else "bf16", lowering


class Failure(Exception):
    """Why a way does not run."""


class Engine:
    """A process that trains `members` models in a way such as "jax-f32" or
    "braid:member", a lowering of convolutions."""

    def __init__(self, way, members, command, environment, log):
        self.way, self.members, self.log = way, members, log
        self.command, self.environment = [str(word) for word in command], environment
        self.process, self.lines = None, queue.Queue()
        self.rates, self.gib, self.calls, self.trouble = [], None, None, ""
        self.steps = 1

    def start(self):
        if self.process:
            return
        with open(self.log, "w") as log:
            self.process = subprocess.Popen(
                self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log,
                text=True, env=self.environment)
        threading.Thread(target=self.listen, daemon=True).start()

    def listen(self):
        for line in self.process.stdout:
            self.lines.put(line.strip())
        self.lines.put(None)

    def last_error(self):
        lines = [line.strip() for line in self.log.read_text(errors="replace").splitlines()]
        return next((line[:200] for line in reversed(lines) if line), "")

    def wait_for(self, test, patience):
        """The next line that passes; libraries may print others."""
        end = time.monotonic() + patience
        while True:
            try:
                line = self.lines.get(timeout=max(0, end - time.monotonic()))
            except queue.Empty:
                raise Failure(f"no answer after {patience:.0f} s") from None
            if line is None:
                code = self.process.wait()
                raise Failure(f"ended with code {code}: {self.last_error()}")
            if line.startswith("does not run"):
                raise Failure(line.partition(": ")[2])
            if test(line):
                return line

    def say(self, text):
        with contextlib.suppress(OSError):  # it has ended: why is what it said last
            self.process.stdin.write(text + "\n")
            self.process.stdin.flush()

    def ask(self, text, patience=120):
        self.say(text)
        return self.wait_for(is_number, patience)

    def run(self, count):
        return float(self.ask(str(count)))

    def end(self):
        """Asks it to end."""
        if self.process:
            with contextlib.suppress(OSError):
                self.process.stdin.close()

    def close(self):
        if not self.process:
            return
        self.end()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process = None


class PythonEngine(Engine):
    """PyTorch's and JAX's, which load first and then wait for their turn."""

    waits = True

    def is_loaded(self, patience):
        if self.waits:
            self.wait_for(lambda line: line == "loaded", patience)
            self.waits = False

    def take_turn(self, patience):
        self.start()
        self.is_loaded(patience)
        self.say("")
        self.wait_for(lambda line: line == "ready", patience)

    def describe(self):
        self.gib = float(self.ask("memory")) / 2**30


class BraidEngine(Engine):
    """Starts in its turn: it has nothing to load."""

    def is_loaded(self, patience):
        pass

    def take_turn(self, patience):
        self.start()
        self.wait_for(lambda line: line == "ready", patience)

    def describe(self):
        self.gib = float(self.ask("peak").split()[1]) / 2**30
        self.calls = int(self.ask("programs"))

    def profile(self):
        self.say("profile")
        lines = []
        while (line := self.wait_for(lambda line: True, 120)) != "end":
            lines.append(line)
        return lines


def is_number(line):
    try:
        float(line.split()[0])
    except (ValueError, IndexError):
        return False
    return True


def close_all(engines):
    for engine in engines:
        engine.end()
    for engine in engines:
        engine.close()


def attempt(engine, action):
    """Whether it went well; else the engine is closed and knows why."""
    try:
        action()
        return True
    except Failure as failure:
        engine.trouble = str(failure)
    except Exception as error:  # whatever an engine answers, the others go on
        engine.trouble = f"{type(error).__name__}: {error}"
    engine.close()
    return False


class Bench:
    """One workload."""

    def __init__(self, name, options, logs):
        self.name, self.options, self.logs = name, options, logs
        prefix = "gpu" if options.device == "cuda" else "small"
        self.key = f"{prefix}:{name}"
        self.workload = find_workload(self.key)
        self.begin = time.monotonic()
        self.waves = [[self.engine(way, 1 if way in SINGLE else members)
                       for way in options.ways if fits(way, members, options.members)]
                      for members in options.members]
        self.engines = [engine for wave in self.waves for engine in wave]

    def environment(self):
        on_gpu = self.options.device == "cuda"
        own = {"XLA_PYTHON_CLIENT_PREALLOCATE": "false", "TORCHINDUCTOR_COMPILE_THREADS": "4",
               "OMP_NUM_THREADS": "4" if on_gpu else "1"}
        return os.environ | own | ({} if on_gpu else {"CUDA_VISIBLE_DEVICES": ""})

    def engine(self, way, members):
        name, precision, lowering = parts_of(way)
        log = self.logs / f"{self.name}-{way}-{members}.log"
        if name == "braid":
            words = [SERVER, self.workload.braid_name(), "adam", members, precision]
            words += [lowering] if lowering else []
            return BraidEngine(way, members, words, self.environment(), log)
        script = ["_jax_server.py"] if name == "jax" else ["_gpu_torch_server.py", name]
        words = [sys.executable, ROOT / "bench" / script[0], *script[1:], self.key, members,
                 precision, self.options.device]
        return PythonEngine(way, members, words, self.environment(), log)

    def say(self, text):
        print(f"[{self.name} {time.monotonic() - self.options.begin:5.0f} s] {text}", flush=True)

    def flops(self):
        """Of a step of one model, or none."""
        words = [str(SERVER), "flops", self.workload.braid_name(), "adam"]
        try:
            return float(subprocess.check_output(words, text=True, timeout=60))
        except (OSError, ValueError, subprocess.SubprocessError):
            return None

    def prepare(self, engines):
        """Turn by turn: what chooses by timing is not disturbed."""
        for engine in engines:
            if not engine.trouble and time.monotonic() - self.begin > self.options.deadline:
                engine.trouble = "left out: no time"
            if not engine.trouble:
                attempt(engine, lambda e=engine: e.take_turn(self.options.patience))
            self.say(f"{engine.way} B={engine.members}: {engine.trouble or 'ready'}")
        return [engine for engine in engines if not engine.trouble]

    def time(self, engines):
        for engine in engines:
            attempt(engine, lambda e=engine: self.calibrate(e))
        for _ in range(self.options.rounds):
            for engine in engines:
                if not engine.trouble:
                    attempt(engine, lambda e=engine: self.time_once(e))
        for engine in engines:
            if not engine.trouble:
                attempt(engine, engine.describe)
                self.show_profile(engine)

    def calibrate(self, engine):
        """As many steps as take about that long; warms the engine up."""
        count, took = 1, engine.run(1)
        while took < self.options.seconds / 4:
            count *= 2
            took = engine.run(count)
        engine.steps = max(1, round(count * self.options.seconds / took))

    def time_once(self, engine):
        took = engine.run(engine.steps)
        engine.rates.append(engine.steps * engine.members / took)

    def show_profile(self, engine):
        if self.options.profile and isinstance(engine, BraidEngine):
            def show():
                self.say(f"{engine.way} B={engine.members}, seconds of each op in a step:")
                print("\n".join(engine.profile()), flush=True)
            attempt(engine, show)

    def measure_wave(self, engines, others):
        """One number of members; `others` still load and must not disturb."""
        running = self.prepare(engines)
        for engine in others:
            if not engine.trouble:
                attempt(engine, lambda e=engine: e.is_loaded(self.options.patience))
        self.time(running)
        close_all(engines)

    def measure_alone(self, engines):
        """Again those for which the others left too little memory."""
        for engine in engines:
            short = any(word in engine.trouble for word in MEMORY_WORDS)
            if not short or len(engines) < 2 or self.options.device == "cpu":
                continue
            self.say(f"{engine.way} B={engine.members}: again, alone")
            again = self.engine(engine.way, engine.members)
            self.time(self.prepare([again]))
            again.close()
            engine.rates, engine.gib, engine.calls = again.rates, again.gib, again.calls
            engine.trouble = again.trouble

    def measure(self):
        try:
            self.measure_all()
        finally:
            close_all(self.engines)

    def measure_all(self):
        later = [engine for engine in self.engines if not isinstance(engine, BraidEngine)]
        for engine in later:
            engine.start()
        if has_trouble := self.braid_trouble():
            for engine in self.engines:
                if isinstance(engine, BraidEngine):
                    engine.trouble = has_trouble
        for wave in self.waves:
            later = [engine for engine in later if engine not in wave]
            self.measure_wave(wave, later)
            self.measure_alone(wave)

    def braid_trouble(self):
        try:
            device = subprocess.check_output([str(SERVER), "device"], text=True, timeout=60)
        except (OSError, subprocess.SubprocessError) as error:
            return f"gpu_server: {error}"
        if self.options.device == "cuda" and device.strip() != "cuda":
            return "this build sees no CUDA device"
        return ""

    def rows(self, date):
        return [row_of(engine, date, self.options.rounds) for engine in self.engines]


def row_of(engine, date, rounds):
    name, precision, lowering = parts_of(engine.way)
    rates = engine.rates if len(engine.rates) == rounds else []
    return Row(f"{name}:{lowering}" if lowering else name, precision, engine.members, date,
               rates, engine.gib, engine.calls, engine.trouble)


def fits(way, members, all_members):
    if way in SINGLE:
        return members == min(all_members)
    return way not in SEVERAL or members > 1


def known_way(text):
    if text in SINGLE + SEVERAL + ANY or text.startswith(("braid:", "braid-f32:")):
        return text
    known = ", ".join([*USUAL, "jax-f32", "braid:LOWERING"])
    raise argparse.ArgumentTypeError(f"unknown way '{text}'; known: {known}")


def machine(device):
    """What results depend on, by name."""
    try:
        jax = importlib.metadata.version("jax")
    except importlib.metadata.PackageNotFoundError:
        jax = "none"
    if device == "cpu":
        return {"gpu": f"none, {platform.machine()}", "torch": torch.__version__, "jax": jax}
    words = ["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"]
    name = subprocess.check_output(words, text=True).splitlines()[0]
    return {"gpu": name, "torch": torch.__version__, "CUDA": torch.version.cuda,
            "cuDNN": torch.backends.cudnn.version(), "jax": jax}


def measure(name, options, logs):
    bench = Bench(name, options, logs)
    bench.say(bench.workload.title)
    date = datetime.date.today().isoformat()
    how = (f"{options.rounds} rounds of {options.seconds} s; Adam, batches in device memory; "
           "bf16: autocast, or f32 parameters; f32: TF32 allowed but in Braid")
    flops = bench.flops()
    bench.measure()
    block = new_block(bench.workload, machine(options.device), date, how, flops,
                      bench.rows(date))
    if options.file:
        block = keep(options.file, name, block)
    print(f"\n{block_text(name, block)}", flush=True)


def read_options():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--workload", nargs="+", choices=GPU_WORKLOADS, default=[*GPU_WORKLOADS])
    parser.add_argument("--ways", nargs="+", type=known_way, default=USUAL)
    parser.add_argument("--members", nargs="+", type=int, default=[1, 8, 32])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=0.5, help="of a round")
    parser.add_argument("--patience", type=float, default=150, help="seconds for a way to start")
    parser.add_argument("--deadline", type=float, default=300,
                        help="seconds after which no way of a workload is begun")
    parser.add_argument("--profile", action="store_true", help="show the ops of Braid's steps")
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda")
    parser.add_argument("--file", type=Path, help=f"default on CUDA: {RESULTS.relative_to(ROOT)}")
    options = parser.parse_args()
    options.begin = time.monotonic()
    options.ways.sort(key=lambda way: USUAL.index(way) if way in USUAL else len(USUAL) - 3)
    if options.device == "cuda":
        options.file = options.file or RESULTS
    return options


def main():
    options = read_options()
    if options.device == "cuda" and not torch.cuda.is_available():
        print("no CUDA device: nothing to measure")
        return
    logs = Path(tempfile.mkdtemp(prefix="braid-bench-"))
    print(f"logs of the processes: {logs}", flush=True)
    for name in options.workload:
        measure(name, options, logs)


if __name__ == "__main__":
    main()
