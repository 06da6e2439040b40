"""``jointdr info``."""

from __future__ import annotations

from jointdr.cli.models import opened
from jointdr.cli.options import AsJson, Model
from jointdr.cli.output import put_facts
from jointdr.report.facts import facts_of


def info(model: Model, json: AsJson = False) -> None:
    """Say what was fitted: sizes, parameters, bandwidths, version.

    \b
    Examples:
      jointdr info model.npz
      jointdr info model.npz --json
    """
    from jointdr import persist

    found = opened(model)
    put_facts({**facts_of(found), "written by": f"jointdr {persist.header_of(model)['library']}"}, json)
