"""How many directions, how sure a fit is, what is wrong with it: rank tests, bootstraps, bounds, diagnoses."""

from jointdr.diagnostics.bootstrap import bootstrap
from jointdr.diagnostics.bootstrap_result import Angle, Bootstrap
from jointdr.diagnostics.bounds import SampleSizes, bilinear_bound, correlation_edge, noise_edge, suggested_samples
from jointdr.diagnostics.diagnosis import Diagnosis, Finding, diagnose
from jointdr.diagnostics.rank_profile import RankProfile, rank_profile
from jointdr.diagnostics.rank_tests import null_rank, threshold_rank

__all__ = [
    "Angle",
    "Bootstrap",
    "Diagnosis",
    "Finding",
    "RankProfile",
    "SampleSizes",
    "bilinear_bound",
    "bootstrap",
    "correlation_edge",
    "diagnose",
    "noise_edge",
    "null_rank",
    "rank_profile",
    "suggested_samples",
    "threshold_rank",
]
