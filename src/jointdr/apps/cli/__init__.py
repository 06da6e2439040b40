"""The command line: ``jointdr fit``, ``tune``, ``predict`` and so on, one file for each command.

Nothing here is imported by the library, and typer and rich only when a command runs.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code: 0, 2 for bad input, 1 for an error of the program, 130 for Ctrl-C, 143
    for SIGTERM. Without arguments it takes those of the process.
    """
    try:
        import rich  # noqa: F401
        import typer  # noqa: F401
    except ImportError:
        print('The command line takes typer and rich: pip install "jointdr[cli]".', file=sys.stderr)
        return 2
    from jointdr.apps.cli.app import run

    return run(sys.argv[1:] if arguments is None else arguments)
