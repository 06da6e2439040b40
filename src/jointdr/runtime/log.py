"""The log of the library, which is silent unless a program asks for it: ``logging.getLogger("jointdr")``."""

from __future__ import annotations

import logging

log = logging.getLogger("jointdr")
log.addHandler(logging.NullHandler())
