"""Pictures, with matplotlib: every function takes what is to be drawn and, optionally, an axis, and returns the axis.

Colours can be told apart by readers who are colour-blind, and lines are named where they end rather than in a legend.
"""

from jointdr.plot.axes import COLUMNS, name_ticks, pyplot, save_figure, tidy, whole_numbers
from jointdr.plot.coordinates import MOST_GROUPS, coordinates, embedding_map, groups
from jointdr.plot.curves import nsee_curves, recall_curves, recalls
from jointdr.plot.evaluations import drawn
from jointdr.plot.features import heaviest, loadings
from jointdr.plot.repetitions import Curve, reach
from jointdr.plot.singular_values import n_drawn, scree

__all__ = [
    "COLUMNS",
    "MOST_GROUPS",
    "Curve",
    "coordinates",
    "drawn",
    "embedding_map",
    "groups",
    "heaviest",
    "loadings",
    "n_drawn",
    "name_ticks",
    "nsee_curves",
    "pyplot",
    "reach",
    "recall_curves",
    "recalls",
    "save_figure",
    "scree",
    "tidy",
    "whole_numbers",
]
