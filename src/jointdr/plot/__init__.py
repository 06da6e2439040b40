"""Figures, with matplotlib: every function takes what is to be drawn and, optionally, an axis, and returns the axis.

Colours can be told apart by readers who are colour-blind, and lines are named where they end rather than in a legend.
"""

from jointdr.plot.axes import name_ticks, new_figure, save_figure
from jointdr.plot.bootstrap import bootstrap_figure
from jointdr.plot.coordinates import MOST_GROUPS, coordinates, embedding_map, groups
from jointdr.plot.curves import nsee_curves, recall_curves, recalls
from jointdr.plot.evaluations import GRADED, evaluation_figure, graded_means, metric_bars
from jointdr.plot.features import heaviest, loadings
from jointdr.plot.repetitions import Curve, reach
from jointdr.plot.singular_values import rank_figure, scree

__all__ = [
    "GRADED",
    "MOST_GROUPS",
    "Curve",
    "bootstrap_figure",
    "coordinates",
    "embedding_map",
    "evaluation_figure",
    "graded_means",
    "groups",
    "heaviest",
    "loadings",
    "metric_bars",
    "name_ticks",
    "new_figure",
    "nsee_curves",
    "rank_figure",
    "reach",
    "recall_curves",
    "recalls",
    "save_figure",
    "scree",
]
