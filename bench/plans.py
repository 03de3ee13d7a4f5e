"""What plans cost, and whether that was known before.

- predicted: the seconds of a step by a profile that was just measured, beside those of
  its run, with everything kept, under a plan that the solver chose for 0.7 of that, and
  under one forced on all segments;
- little less: a limit 1 % below what is needed, in predicted time;
- beyond memory: a GPT-2 of 109 million parameters that has an eighth of the bytes of its
  parameters and AdamW's state, and one of 64 layers that has three layers' worth and the
  activations asked for; beside the run without a limit, the same losses;
- overlap: copies over links throttled to known rates (bench/overlap.cpp).

    scripts/bench.sh plans            (or: bench/plans.py predicted|little|beyond|overlap ...)
"""

import json
import statistics
import subprocess
import sys

import torch
from _report import BUILD, Report, run_parts
from safetensors.torch import save_file

MIB = 1 << 20


class Bench(Report):
    def braid(self, *words):
        done = subprocess.run(
            [BUILD / "braid", *map(str, words)], capture_output=True, text=True, check=False
        )
        if done.returncode:
            sys.exit(f"{words}\n{done.stdout}{done.stderr}")
        return done.stdout

    def step(self, model, tensors, steps, **options):
        """memory.json and the losses of `braid step`."""
        self.count += 1
        out = self.folder / f"out-{self.count}"
        inputs = self.folder / f"x-{self.count}.safetensors"
        save_file(tensors, inputs)
        words = ["step", model, "--inputs", inputs, "--steps", steps, "--optimizer", "adamw"]
        words += ["--set", "lr=1e-4", "--out", out]
        for name, value in options.items():
            words += ["--" + name.replace("_", "-"), value]
        self.braid(*words)
        memory = json.loads((out / "memory.json").read_text())
        losses = (out / "losses.json").read_text()
        for file in out.glob("*.safetensors"):  # a copy of everything
            file.unlink()
        return memory, losses


def tokens(batch, length, vocab):
    generator = torch.Generator().manual_seed(1)
    draw = torch.randint(vocab, (batch, length + 1), generator=generator)
    return {"tokens": draw[:, :-1].clone(), "targets": draw[:, 1:].clone()}


def images(batch, side, classes):
    generator = torch.Generator().manual_seed(1)
    x = torch.randn(batch, 3, side, side, generator=generator)
    return {"x": x, "y": torch.randint(classes, (batch,), generator=generator)}


CASES = {
    "transformer": (
        "transformer_lm(batch=8,length=128,vocab=1000,width=256,heads=4,layers=6)",
        tokens(8, 128, 1000),
    ),
    "resnet18": ("resnet18(batch=8,side=64,classes=10)", images(8, 64, 10)),
    "lstm_lm": (
        "lstm_lm(batch=16,length=32,vocab=1000,width=256)",
        tokens(16, 32, 1000),
    ),
}
FORCED = {
    "recompute": "recompute,resident,device",
    "offload": "offload,spilled,device",
    "on the host": "recompute,spilled,host",
}


def predicted(bench):
    bench.say("predicted and measured milliseconds of a step; the last column has how much")
    bench.say("slower than `keep` a plan was, of how much that was predicted to be")
    bench.say(f"  {'':14} {'plan':14} {'predicted':>10} {'measured':>10} {'ratio':>7} {'bytes':>8}"
              f" {'slowdown':>9}")  # fmt: skip
    for name, (model, tensors) in CASES.items():
        profile = bench.folder / f"{name}.json"
        plan = bench.folder / "plan.yaml"
        free, losses = bench.step(model, tensors, 12, profile=profile)
        need = free["measured_peak_bytes"]
        rows = [("keep", {}), ("chosen", {"memory_limit": int(0.7 * need)})]
        rows += [(word, {"decision": FORCED[word]}) for word in FORCED]
        for word, options in rows:
            if "decision" in options:
                plan.write_text(f"depth: 1\nsegments: {{default: '{options.pop('decision')}'}}\n")
                options["plan"] = plan
            bench.step(model, tensors, 1, profile=profile, **options)  # measures what is new
            seconds, kept = [], []
            for _ in range(3):
                memory, again = bench.step(model, tensors, 12, profile=profile, **options)
                assert again == losses
                seconds.append(memory["measured_step_s"])
                beside, _ = bench.step(model, tensors, 12, profile=profile)
                kept.append(beside["measured_step_s"])
            want, got = memory["predicted_step_s"], statistics.median(seconds)
            slower = got / statistics.median(kept) / (want / beside["predicted_step_s"])
            part = memory["measured_peak_bytes"] / need
            bench.say(
                f"  {name:14} {word:14} {1e3 * want:10.1f} {1e3 * got:10.1f} {got / want:7.3f}"
                f" {part:8.2f} {slower:9.3f}"
            )


def little(bench):
    bench.say("a limit a little below the need: predicted time against that of the need")
    job = bench.folder / "deep.yaml"
    for layers in (8, 24, 48):
        job.write_text(
            f"model: transformer_lm(length=64,vocab=500,width=128,heads=4,layers={layers})\n"
            "data: {source: arithmetic, length: 64, count: 64}\noptimizer: adamw\n"
            "batch_size: 8\nsteps: 2\n"
        )
        free = json.loads(bench.braid("plan", job, "--json"))["predicted"]
        for share in (0.99, 0.95, 0.9):
            limit = int(share * free["bytes"])
            report = json.loads(bench.braid("plan", job, "--json", "--memory-limit", limit))
            slower = report["predicted"]["seconds"] / free["seconds"]
            used = report["predicted"]["bytes"] / limit
            bench.say(f"  {layers:3} layers  {share:.2f} of the need: {slower:.4f} of the time,"
                      f" {used:.3f} of the limit")  # fmt: skip


def beyond_row(bench, title, model, tensors, limit, steps):
    free, losses = bench.step(model, tensors, steps)
    memory, again = bench.step(model, tensors, steps, memory_limit=limit)
    assert again == losses, (again, losses)
    assert memory["measured_peak_bytes"] <= limit
    assert memory["measured_peak_bytes"] == memory["predicted_peak_bytes"]
    ratio = memory["measured_step_s"] / free["measured_step_s"]
    bench.say(
        f"  {title}: {free['measured_peak_bytes'] / MIB:.0f} MiB without a limit, "
        f"{memory['measured_peak_bytes'] / MIB:.1f} of {limit / MIB:.1f} MiB with it, "
        f"{memory['predicted_host_bytes'] / MIB:.0f} MiB on the host; "
        f"{free['measured_step_s']:.2f} s and {memory['measured_step_s']:.2f} s a step, "
        f"ratio {ratio:.2f}; losses equal"
    )


def beyond(bench):
    bench.say("beyond memory, AdamW")
    width, layers, vocab, length = 768, 15, 4096, 64
    block = 12 * width * width + 13 * width
    count = layers * block + (vocab + length + 2) * width
    state = 3 * 4 * count
    bench.say(f"  {count / 1e6:.0f} M parameters, {state / MIB:.0f} MiB with AdamW's state")
    model = (
        f"gpt2(batch=1,length={length},positions={length},vocab={vocab},width={width},"
        f"layers={layers})"
    )
    beyond_row(
        bench, "GPT-2, an eighth", model, tokens(1, length, vocab), state // 8, 3
    )
    width, layers, vocab, length, batch = 256, 64, 64, 64, 4
    block = 12 * width * width + 13 * width
    # Parameters, gradients and AdamW's state; a layer's result for each layer, and what
    # one layer keeps: 34 numbers of 4 bytes for each of a token's, and scores of 4 heads.
    asked = 4 * batch * length * width * (layers + 34) + 4 * 4 * batch * length * length * 5
    limit = 3 * 16 * block + asked
    model = (
        f"gpt2(batch={batch},length={length},positions={length},vocab={vocab},width={width},"
        f"heads=4,layers={layers})"
    )
    bench.say(f"  64 layers: three with state {3 * 16 * block / MIB:.1f} MiB, activations "
              f"{asked / MIB:.1f} MiB")  # fmt: skip
    beyond_row(bench, "64 layers in three", model, tokens(batch, length, vocab), limit, 3)


def overlap(bench):
    bench.say("overlap with throttled links")
    job = bench.folder / "overlap.yaml"
    job.write_text(
        "model: transformer_lm(length=64,vocab=1000,width=256,heads=4,layers=8)\n"
        "data: {source: arithmetic, length: 64, count: 4000}\noptimizer: adamw\n"
        "batch_size: 8\nsteps: 10000\nthreads: 1\n"
    )
    bench.say_output(BUILD / "bench" / "overlap", job, "9")


PARTS = {"predicted": predicted, "little": little, "beyond": beyond, "overlap": overlap}


if __name__ == "__main__":
    run_parts("plans", PARTS, Bench)
