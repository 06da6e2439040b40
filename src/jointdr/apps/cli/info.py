"""``jointdr info``."""

from __future__ import annotations

from jointdr.apps.cli.models import opened
from jointdr.apps.cli.options import AsJson, Model
from jointdr.apps.cli.output import put_facts
from jointdr.apps.report.facts import facts_of


def info(model: Model, json: AsJson = False) -> None:
    """Say what was fitted: sizes, parameters, bandwidths, version.

    \b
    Examples:
      jointdr info model.npz
      jointdr info model.npz --json
    """
    from jointdr.runtime import read_header

    found = opened(model)
    put_facts({**facts_of(found), "written by": f"jointdr {read_header(model)['library']}"}, json)
