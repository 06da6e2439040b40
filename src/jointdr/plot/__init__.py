"""Pictures, with matplotlib: every function takes what is to be drawn and, optionally, an axis, and returns the axis.

Colours can be told apart by readers who are colour-blind, and lines are named where they end rather than in a legend.
"""

from jointdr.plot.coordinates import embedding_map
from jointdr.plot.curves import nsee_curves, recall_curves
from jointdr.plot.features import loadings
from jointdr.plot.singular_values import scree

__all__ = ["embedding_map", "loadings", "nsee_curves", "recall_curves", "scree"]
