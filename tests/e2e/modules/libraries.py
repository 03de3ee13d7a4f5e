"""The libraries that modules come from, imported when first needed."""

import os
import sys

import torch


def torchvision():
    """A torchvision for CUDA cannot load its operators beside a CPU torch.

    The models need none of them; declaring two lets the import through.
    """
    try:
        import torchvision
    except RuntimeError as error:
        if "torchvision::nms" not in str(error):
            raise
        for name in [n for n in sys.modules if n.split(".")[0] == "torchvision"]:
            del sys.modules[name]
        for name in ("nms", "qnms"):
            torch.library.define(
                f"torchvision::{name}", "(Tensor dets, Tensor scores, float iou) -> Tensor"
            )
        import torchvision
    return torchvision


def timm():
    torchvision()
    import timm

    return timm


def transformers():
    os.environ["HF_HUB_OFFLINE"] = "1"  # nothing is ever fetched
    torchvision()
    import transformers

    transformers.logging.set_verbosity_error()
    return transformers
