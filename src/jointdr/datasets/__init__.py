"""Data with a known truth: the synthetic models of the paper."""

from jointdr.datasets.synthetic import (
    Sample,
    SyntheticModel,
    make_bilinear,
    make_even,
    make_logistic,
    make_odd,
    make_rbf,
)

__all__ = ["Sample", "SyntheticModel", "make_bilinear", "make_even", "make_logistic", "make_odd", "make_rbf"]
