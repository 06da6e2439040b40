"""The one idea: central moments of (a, b, y), which merge exactly and in any order."""

from jointdr.moments.block_sums import Covariance, Keep
from jointdr.moments.moments import Moments, merged
from jointdr.moments.serialization import moments_from_arrays, moments_to_arrays

__all__ = ["Covariance", "Keep", "Moments", "merged", "moments_from_arrays", "moments_to_arrays"]
