"""The page as an ASGI application."""

from __future__ import annotations

import os
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from jointdr.apps.explore.guard import Guard
from jointdr.apps.explore.routes import Pages
from jointdr.apps.explore.session import Forgotten, Session

HERE = Path(__file__).parent


def application(session: Session) -> Guard:
    """The page of a session, ready for a server."""
    loader = FileSystemLoader(HERE / "templates")
    templates = Environment(
        loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    pages = Pages(session, templates)
    for name in templates.list_templates():  # which keeps them for later
        templates.get_template(name)

    def failed(request: Request, error: Exception) -> Response:
        if isinstance(error, HTTPException):
            return pages.problem(error.detail, error.status_code)
        if isinstance(error, Forgotten):
            return pages.problem(str(error), 404)
        return pages.problem("Something went wrong while this was computed.", 500)

    routes = [
        Route("/", pages.home),
        Route("/search", pages.search),
        Route("/row", pages.row),
        Route("/column", pages.column),
        Route("/why", pages.why),
        Route("/row.tsv", pages.row_table),
        Route("/column.tsv", pages.column_table),
        Route("/map.svg", pages.background),
        Route("/new", pages.form),
        Route("/new", pages.upload, methods=["POST"]),
        Mount("/static", _Files(directory=HERE / "static")),
        Mount("/shared", _Files(directory=HERE.parent / "pages")),
    ]
    handlers = {HTTPException: failed, Forgotten: failed, Exception: failed}
    return Guard(Starlette(routes=routes, exception_handlers=handlers))


class _Files(StaticFiles):
    """Files of the package, which a browser may keep if it asks whether they have changed."""

    def lookup_path(self, path: str) -> tuple[str, os.stat_result | None]:
        """Where a file lies; a name that no file can have, because of a zero byte in it, lies nowhere."""
        return ("", None) if "\0" in path else super().lookup_path(path)

    def file_response(self, *args: object, **kwargs: object) -> Response:
        response = super().file_response(*args, **kwargs)  # type: ignore[arg-type]
        response.headers["Cache-Control"] = "no-cache"
        return response
