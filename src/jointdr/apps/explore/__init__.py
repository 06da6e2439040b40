"""A local page on which a fitted `AssociationModel` can be looked through: search, rankings, why, nearest, a map.

It takes Starlette, Jinja2 and uvicorn: ``pip install "jointdr[app]"``. Nothing in the library imports it.
"""
