"""Refinement: least squares on a link function, from the directions that moments give."""
