"""Programs that people start: the command line, reports, the local page, the reproduction of the paper."""

from jointdr.apps.report import write_report
from jointdr.apps.reproduce import reproduce

__all__ = ["reproduce", "write_report"]
