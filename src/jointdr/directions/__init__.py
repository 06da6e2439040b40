"""Moments to embeddings, a file for each step of the paper."""

from jointdr.directions import classical, proxy
from jointdr.directions.choices import folds, rank_criterion, resolved, useful_moments
from jointdr.directions.embedding import Embedding, projected, scaled
from jointdr.directions.jdr import (
    Options,
    jdr,
    jdr_at,
    jdr_from_rows,
    moments_needed,
    normalized,
    placed,
    require_rank,
    unfolding,
)
from jointdr.directions.joint import joint_phd, residuals, sols, sols_of_entities
from jointdr.directions.many_views import jdr_of_views, jdr_of_views_at
from jointdr.directions.normalize import (
    NORMALIZATIONS,
    SMALLEST_VARIANCE,
    ConstantFeatureWarning,
    RankError,
    RoundingWarning,
    SingularCovarianceWarning,
    Whitener,
    whiteners,
)
from jointdr.directions.proxy import OVERFLOW, UNDERFLOW, NormalizedMoments, overflow_told
from jointdr.directions.refine.link_functions import Basis, Link, fit_bilinear, fit_learned
from jointdr.directions.refine.sweeps import LINKS, Refinement, refined
from jointdr.directions.svd import EXACT_UP_TO, SOLVERS, chosen_solver, left_vectors, scaled_left_vectors, sign_columns

__all__ = [
    "EXACT_UP_TO",
    "LINKS",
    "NORMALIZATIONS",
    "OVERFLOW",
    "SMALLEST_VARIANCE",
    "SOLVERS",
    "UNDERFLOW",
    "Basis",
    "ConstantFeatureWarning",
    "Embedding",
    "Link",
    "NormalizedMoments",
    "Options",
    "RankError",
    "Refinement",
    "RoundingWarning",
    "SingularCovarianceWarning",
    "Whitener",
    "chosen_solver",
    "classical",
    "fit_bilinear",
    "fit_learned",
    "folds",
    "jdr",
    "jdr_at",
    "jdr_from_rows",
    "jdr_of_views",
    "jdr_of_views_at",
    "joint_phd",
    "left_vectors",
    "moments_needed",
    "normalized",
    "overflow_told",
    "placed",
    "projected",
    "proxy",
    "rank_criterion",
    "refined",
    "require_rank",
    "residuals",
    "resolved",
    "scaled",
    "scaled_left_vectors",
    "sign_columns",
    "sols",
    "sols_of_entities",
    "unfolding",
    "useful_moments",
    "whiteners",
]
