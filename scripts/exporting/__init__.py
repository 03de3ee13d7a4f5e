"""Exports PyTorch modules to .pt2 files; scripts/export_model.py calls it."""

from .error import ExportError
from .program import Exported, export

__all__ = ["Exported", "ExportError", "export"]
