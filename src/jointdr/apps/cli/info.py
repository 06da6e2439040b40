"""``jointdr info``."""

from __future__ import annotations

from jointdr.apps.cli.inputs import open_recommender
from jointdr.apps.cli.options import AsJson, Model
from jointdr.apps.cli.output import put_model


def info(model: Model, json: AsJson = False) -> None:
    """Show what was fitted: sizes, parameters, bandwidths, version.

    \b
    Examples:
      jointdr info model.npz
      jointdr info model.npz --json
    """
    from jointdr.runtime import read_header

    put_model(open_recommender(model), json, **{"written by": f"jointdr {read_header(model)['library']}"})
