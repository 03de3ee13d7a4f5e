"""Why torch.export refuses a module: the line, the reason, the way out."""

import re
import traceback
from pathlib import Path

import torch

from .error import ExportError

TORCH = str(Path(torch.__file__).parent)
OWN = (str(Path(__file__).parent), str(Path(__file__).parent.with_name("export_model.py")))

# What the error, the user's line or a line of torch.nn says; why; the way out.
REASONS = [
    (r"_ctc_loss|ctc_loss", "the sizes of CTC loss depend on data",
     "export the module without its loss"),
    (r"\.numpy\(|numpy\(\) on|call numpy", "values leave PyTorch through numpy()",
     "stay with torch functions in forward"),
    (r"float\(self\.num_batches_tracked\)", "BatchNorm with momentum=None counts in Python",
     "give it a momentum, such as 0.1"),
    (r"_detect_is_causal_mask", "nn.Transformer compares the mask to find out if it is causal",
     "pass is_causal, tgt_is_causal or src_is_causal, True or False"),
    (r"Expected inputs of BF16", "torch.export knows grouped_mm for bfloat16 alone",
     "cast its operands: F.grouped_mm(x.bfloat16(), w.bfloat16(), offs=ends)"),
    (r"expert", "the experts are chosen by sizes that depend on data",
     "in transformers: set_experts_implementation('grouped_mm') on the model"),
    (r"nonzero|masked_select|aten\._?unique|DynamicOutputShape|bincount|repeat_interleave",
     "the size of a result depends on data",
     "keep sizes fixed: torch.where, or a product with the mask, instead of a selection"),
    (r"data.dependent|DataDependent|_local_scalar_dense|Could not guard|Could not extract",
     "Python decides by the value of a tensor (if, assert, int(), .item())",
     "use torch.where, remove the check, or move this part out of forward"),
    (r"Constraints violated|ConstraintViolation|constraints",
     "the sizes asked to be dynamic are fixed by the module",
     "leave dynamic sizes away, or remove what needs this very size"),
]  # fmt: skip


def frames_of(error):
    """All frames of an error and of its causes, outermost first."""
    while error is not None:
        yield from traceback.extract_tb(error.__traceback__)
        error = error.__cause__


def user_frame(error):
    """The innermost line that is not of torch and not of the exporter."""
    others = (*OWN, TORCH, "<")
    theirs = [f for f in frames_of(error) if not f.filename.startswith(others)]
    return theirs[-1] if theirs else None


def first_line(error):
    return f"{type(error).__name__}: {error}".strip().splitlines()[0][:300]


def broken_sizes(error):
    """What torch.export says of sizes that cannot change, a line each."""
    lines = [line.strip() for line in str(error).splitlines() if line.startswith("  - ")]
    return "".join(f"\n  {line[2:][:300]}" for line in dict.fromkeys(lines))


def place_of(error):
    frame = user_frame(error)
    return f"\n  {frame.filename}:{frame.lineno}: {frame.line}" if frame else ""


def reason_of(error):
    frame = user_frame(error)
    layers = [f.line or "" for f in frames_of(error) if f.filename.startswith(TORCH + "/nn")]
    said = "\n".join([first_line(error), frame.line or "" if frame else "", *layers])
    for pattern, why, way_out in REASONS:
        if re.search(pattern, said):
            return why, f"\nHINT: {way_out}"
    return "torch.export refuses this module", ""


def refusal(error, own_failure=None):
    """What was refused, where, and the way out.

    own_failure: what the module itself raises with these inputs; then it is
    not torch.export that refuses.
    """
    if own_failure is not None:
        return ExportError(
            f"the module itself fails with these inputs{place_of(own_failure)}\n"
            f"  {first_line(own_failure)}\n"
            "HINT: names, sizes and types of the inputs are those of forward's arguments"
        )
    why, hint = reason_of(error)
    said = f"{first_line(error)}{broken_sizes(error)}"
    return ExportError(f"{why}{place_of(error)}\n  {said}{hint}")
