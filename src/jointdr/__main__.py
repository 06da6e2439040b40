"""``python -m jointdr``: the command line."""

from __future__ import annotations

import sys

from jointdr.apps.cli import main

if __name__ == "__main__":
    sys.exit(main())
