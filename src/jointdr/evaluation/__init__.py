"""Methods side by side on held-out associations."""

from jointdr.data import Split, splits
from jointdr.evaluation.evaluate import evaluate
from jointdr.evaluation.methods import GAUSSIAN_BANDWIDTHS, METHOD_NAMES, Method, reduce_features, standard_methods
from jointdr.evaluation.result import Evaluation, Outcome, markdown_table

__all__ = [
    "GAUSSIAN_BANDWIDTHS",
    "METHOD_NAMES",
    "Evaluation",
    "Method",
    "Outcome",
    "Split",
    "evaluate",
    "markdown_table",
    "reduce_features",
    "splits",
    "standard_methods",
]
