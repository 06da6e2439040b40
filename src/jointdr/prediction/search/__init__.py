"""Choices of a prediction model by held-out associations."""
