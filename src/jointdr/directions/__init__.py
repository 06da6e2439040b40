"""Moments to embeddings, a file for each step of the paper."""

from jointdr.directions import classical
from jointdr.directions.choices import folds, rank_criterion, useful_moments
from jointdr.directions.embedding import Embedding
from jointdr.directions.finite import (
    NoSignalWarning,
    checked_embedding,
    explain_overflow,
    require_finite,
    warn_no_signal,
)
from jointdr.directions.jdr import Fitted, fit_jdr, jdr_from_moments, read_moments, solve_jdr
from jointdr.directions.joint import joint_phd, residuals, sols, sols_of_entities
from jointdr.directions.normalize import (
    ConstantFeatureWarning,
    RankError,
    RoundingWarning,
    SingularCovarianceWarning,
    Whitener,
    require_rank,
    whiteners,
)
from jointdr.directions.options import CROSS, LINKS, NORMALIZATIONS, Options
from jointdr.directions.predictions import Linear, Multilinear, Prediction, Quadratic
from jointdr.directions.proxy import OVERFLOW, NormalizedMoments, center_moments, normalize_moments, unfolding
from jointdr.directions.refine.link_functions import Basis, Link, fit_bilinear, fit_learned
from jointdr.directions.svd import EXACT_UP_TO, SOLVERS, choose_solver, left_vectors, scaled_left_vectors, sign_columns

__all__ = [
    "CROSS",
    "EXACT_UP_TO",
    "LINKS",
    "NORMALIZATIONS",
    "OVERFLOW",
    "SOLVERS",
    "Basis",
    "ConstantFeatureWarning",
    "Embedding",
    "Fitted",
    "Linear",
    "Link",
    "Multilinear",
    "NoSignalWarning",
    "NormalizedMoments",
    "Options",
    "Prediction",
    "Quadratic",
    "RankError",
    "RoundingWarning",
    "SingularCovarianceWarning",
    "Whitener",
    "center_moments",
    "checked_embedding",
    "choose_solver",
    "classical",
    "explain_overflow",
    "fit_bilinear",
    "fit_jdr",
    "fit_learned",
    "folds",
    "jdr_from_moments",
    "joint_phd",
    "left_vectors",
    "normalize_moments",
    "rank_criterion",
    "read_moments",
    "require_finite",
    "require_rank",
    "residuals",
    "scaled_left_vectors",
    "sign_columns",
    "sols",
    "sols_of_entities",
    "solve_jdr",
    "unfolding",
    "useful_moments",
    "warn_no_signal",
    "whiteners",
]
