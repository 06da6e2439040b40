"""Heads: scores from the coordinates of entities. Kernels, regression, ridge, completion, and their choices."""
