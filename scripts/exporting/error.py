"""The one error of the exporter."""


class ExportError(Exception):
    """Says what was wrong and, after HINT, what to do."""
