"""One line for every change that somebody asks for."""

import logging
from pathlib import Path

AUDIT = logging.getLogger("lookalike.audit")
"""Gets a line for every change asked for, granted or not."""

_log = logging.getLogger(__name__)


class AuditFile(logging.FileHandler):
    """Appends lines to a file, and knows whether the last one could not be written."""

    def __init__(self, file: Path) -> None:
        super().__init__(file, encoding="utf-8")
        self.setFormatter(logging.Formatter("%(asctime)s %(message)s"))
        self.broken = False

    def emit(self, record: logging.LogRecord) -> None:
        """Write a line."""
        was, self.broken = self.broken, False
        super().emit(record)
        if self.broken and not was:
            _log.error(
                "%s cannot be written, so changes are refused. Free some space.", self.baseFilename
            )

    def handleError(self, record: logging.LogRecord) -> None:
        """Note that a line could not be written."""
        self.broken = True


def is_enabled() -> bool:
    """Return whether lines can be written; try again where the last one could not be."""
    files = [handler for handler in AUDIT.handlers if isinstance(handler, AuditFile)]
    if any(file.broken for file in files):
        AUDIT.info("lines may be missing before this one")
    return not any(file.broken for file in files)
