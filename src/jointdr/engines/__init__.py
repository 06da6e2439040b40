"""Engines: the only code that sees all rows of the data."""
