"""Methods side by side on held-out associations."""

from jointdr.data import Split, splits
from jointdr.evaluation.evaluate import evaluate
from jointdr.evaluation.methods import BANDWIDTHS, Method, reduced, standard_methods
from jointdr.evaluation.result import Evaluation, Outcome

__all__ = [
    "BANDWIDTHS",
    "Evaluation",
    "Method",
    "Outcome",
    "Split",
    "evaluate",
    "reduced",
    "splits",
    "standard_methods",
]
