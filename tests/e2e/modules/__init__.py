"""Modules written the way people write them: MODULES, name -> Case."""

from . import (
    hf_moe,
    hf_more,
    hf_other,
    hf_text,
    plain_dense,
    plain_image,
    plain_research,
    plain_sequence,
    vision,
)
from .case import Case

PLAIN = (plain_dense, plain_sequence, plain_image, plain_research)
PARTS = (*PLAIN, hf_text, hf_more, hf_moe, hf_other, vision)
MODULES = {name: made for part in PARTS for name, made in part.CASES.items()}

__all__ = ["MODULES", "Case"]
