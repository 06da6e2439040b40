"""What the paper's theorems say about a data set, and what a fitted model says about their assumptions."""

from jointdr.diagnostics.bounds import SampleSizes, bilinear_bound, correlation_edge, noise_edge, suggested_samples
from jointdr.diagnostics.diagnosis import Diagnosis, Finding, diagnose

__all__ = [
    "Diagnosis",
    "Finding",
    "SampleSizes",
    "bilinear_bound",
    "correlation_edge",
    "diagnose",
    "noise_edge",
    "suggested_samples",
]
