"""The answer to each address. Ids that visitors send are looked up in dictionaries, and go nowhere else."""

from __future__ import annotations

from functools import cache
from typing import Any
from urllib.parse import urlencode

from jinja2 import Environment
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from jointdr.apps.explore.contents import (
    entries_of,
    explanation_of,
    model_facts_in_words,
    nearest_entities,
    strongest_pairs,
    suggestions_of,
)
from jointdr.apps.explore.downloads import cell, disposition, tsv
from jointdr.apps.explore.drawing import drawing_of, drawing_of_pairs
from jointdr.apps.explore.guard import LONGEST_BODY
from jointdr.apps.explore.session import Session, Side, Subject
from jointdr.apps.explore.uploads import MOST_ROWS, BadUpload, decode, names_of_columns, read_features, read_mixed

PER_PAGE, NEAREST, FOUND = 20, 8, 12  # entries of a page of a ranking, nearest entities, finds of a search of each kind
SHOWN_ID = 60  # characters of an unknown id that a message repeats


class Pages:
    """The answers of the page; its templates come with autoescape."""

    def __init__(self, session: Session, templates: Environment) -> None:
        self.session, self.templates = session, templates
        templates.globals.update(session=session, most_rows=MOST_ROWS, most_bytes=LONGEST_BODY)
        templates.filters["address"] = address
        self._facts, self._suggestions = model_facts_in_words(session), suggestions_of(session)
        self._background = [
            templates.get_template("background.svg").render(side=side, dots=dots, ticks=ticks)
            for side, (dots, ticks) in enumerate(session.dots)
        ]

    # ---------------------------------------------------------------- finding

    def home(self, request: Request) -> Response:
        """The strongest new pairs, the map, where to start, and what was fitted.

        What takes long to find is left to a second request, which asks for all of it.
        """
        session = self.session
        is_ready = session.strongest_if_found is not None or _flag(request, "all")
        strongest = strongest_pairs(session) if is_ready else None
        return self._page(
            "home.html",
            strongest=strongest,
            drawings=drawing_of_pairs(session, strongest),
            facts=self._facts,
            suggestions=self._suggestions,
        )

    def search(self, request: Request) -> Response:
        text = request.query_params.get("q", "")
        sides = zip(("row", "column"), self.session.catalogs, strict=True)
        found = [(side, catalog, *catalog.search(text, FOUND)) for side, catalog in sides]
        return self._page("search.html", query=text, found=found)

    # ---------------------------------------------------------------- one entity

    def row(self, request: Request) -> Response:
        """A row: its ranked columns, the nearest rows, the map."""
        return self._about(request, self._row(request))

    def column(self, request: Request) -> Response:
        """A column: its ranked rows, the nearest columns, the map."""
        return self._about(request, self._known(request, "column", "id"))

    def why(self, request: Request) -> Response:
        """The known pairs behind the score of a row and a column."""
        subject = self._row(request, "row")
        column = self._known(request, "column", "column").index
        found = explanation_of(self.session, subject, column)
        title = f"{self.session.name(subject)} – {self.session.columns.name(column)}"
        return self._page("why.html", subject=subject, column=column, explanation=found, name=title)

    def row_table(self, request: Request) -> Response:
        return self._table(self._row(request), _flag(request, "known"))

    def column_table(self, request: Request) -> Response:
        return self._table(self._known(request, "column", "id"), _flag(request, "known"))

    def background(self, request: Request) -> Response:
        """All entities of one kind as dots, under the map."""
        at = 1 if request.query_params.get("side") == "column" else 0
        headers = {"Cache-Control": "private, max-age=3600"}  # its address has a key that is new at every start
        return Response(self._background[at], media_type="image/svg+xml", headers=headers)

    # ---------------------------------------------------------------- new rows

    def form(self, request: Request) -> Response:
        return self._form()

    async def upload(self, request: Request) -> Response:
        """Features of new rows: read, kept for a while, and shown at an address of their own."""
        try:
            text = await _sent(request)
        except BadUpload as error:
            return self._form(problem=str(error), status=422)
        return await run_in_threadpool(self._received, text)

    def _received(self, text: str) -> Response:
        model, encoder = self.session.model, self.session.mixed_rows
        names = model.feature_names_per_view_[0]
        names = None if names is None else tuple(map(str, names))
        try:
            if encoder is not None:
                table = read_mixed(text, encoder)
            else:
                table = read_features(text, model.n_features_per_view_[0], names)
        except BadUpload as error:
            return self._form(problem=str(error), text=text, status=422)
        query = urlencode({"upload": self.session.keep(table), "at": 0})
        return RedirectResponse(f"/row?{query}", status_code=303)

    def _form(self, problem: str = "", text: str = "", status: int = 200) -> Response:
        encoder, names = self.session.mixed_rows, self.session.model.feature_names_per_view_[0]
        names = names if encoder is None else names_of_columns(encoder)
        values = {"examples": [] if names is None else [str(name) for name in names[:3]], "mixed": encoder is not None}
        return self._page("new.html", problem=problem, text=text[:100_000], **values, status=status)

    # ---------------------------------------------------------------- inner workings

    def problem(self, message: str, status: int) -> Response:
        return self._page("problem.html", message=message, status=status)

    def _page(self, template: str, status: int = 200, **values: Any) -> Response:
        return HTMLResponse(self.templates.get_template(template).render(**values), status_code=status)

    def _about(self, request: Request, subject: Subject) -> Response:
        session, with_known, zoom = self.session, _flag(request, "known"), _flag(request, "zoom")
        ranking = session.ranking(subject)
        shown = ranking.shown(with_known)
        pages = max(1, -(-len(shown) // PER_PAGE))
        page = min(max(_integer(request, "page", 1), 1), pages)
        entries = entries_of(session, subject, ranking, shown, (page - 1) * PER_PAGE, PER_PAGE)
        nearest = nearest_entities(session, subject, NEAREST)
        return self._page(
            "about.html",
            subject=subject,
            entries=entries,
            bars=session.scale().bars(ranking.scores),
            nearest=nearest,
            drawings=drawing_of(session, subject, entries, nearest, zoom),
            upload=session.uploaded(subject.upload) if subject.upload else None,
            page=page,
            pages=pages,
            count=len(shown),
            n_known=int(ranking.known.sum()),
            with_known=with_known,
            all_known=ranking.all_known,
            zoom=zoom,
        )

    def _table(self, subject: Subject, with_known: bool) -> Response:
        session, others = self.session, self.session.others(subject.side)
        ranking = session.ranking(subject)
        words, scores, known = self._cells(subject.side), ranking.scores.tolist(), ranking.known.tolist()
        lines = (
            (cell(rank), *words[index], cell(scores[index]), cell(known[index]))
            for rank, index in enumerate(ranking.shown(with_known).tolist(), 1)
        )
        text = tsv(("rank", others.kind, "name", "score", "known"), lines)
        headers = {"Content-Disposition": disposition(f"ranking_{session.id(subject)}")}
        return Response(text, media_type="text/tab-separated-values; charset=utf-8", headers=headers)

    @cache  # noqa: B019  (a page lives as long as the program)
    def _cells(self, side: Side) -> list[tuple[str, str]]:
        """Ids and names of the other kind, as downloads have them."""
        others = self.session.others(side)
        return [(cell(id), cell(others.name(index))) for index, id in enumerate(others.ids)]

    def _row(self, request: Request, parameter: str = "id") -> Subject:
        """The row that a request is about: one that was fitted, or one of an upload."""
        key = request.query_params.get("upload")
        if key is None:
            return self._known(request, "row", parameter)
        table, at = self.session.uploaded(key), _integer(request, "at", 0)
        if table is None or not 0 <= at < len(table.ids):
            raise HTTPException(404, "This upload has been forgotten, or never was: send it again.")
        return Subject("row", at, key)

    def _known(self, request: Request, side: Side, parameter: str) -> Subject:
        id = request.query_params.get(parameter)
        if id is None:
            raise HTTPException(400, f"The address has no {parameter}: search for what you are looking for.")
        try:
            return self.session.subject(side, id)
        except KeyError:
            shown = "".join(c for c in id[:SHOWN_ID] if c.isprintable()) + ("…" if len(id) > SHOWN_ID else "")
            message = f"No {self.session.catalog(side).kind} with the id “{shown}” was fitted."
            raise HTTPException(404, message) from None


def address(subject: Subject, session: Session, path: str = "", **more: Any) -> str:
    """The address of an entity, or of something about it, with everything in it quoted."""
    if subject.upload:
        values: dict[str, Any] = {"upload": subject.upload, "at": subject.index}
    else:
        values = {"row" if path == "/why" else "id": session.id(subject)}
    values |= {name: int(value) if isinstance(value, bool) else value for name, value in more.items() if value}
    return f"{path or '/' + subject.side}?{urlencode(values)}"


def _flag(request: Request, name: str) -> bool:
    return request.query_params.get(name) == "1"


def _integer(request: Request, name: str, otherwise: int) -> int:
    """A whole number of an address; anything else is as if it were not there."""
    value = request.query_params.get(name, "")
    return int(value) if value.isascii() and value.isdigit() and len(value) < 10 else otherwise


async def _sent(request: Request) -> str:
    """The text of the form: of the file, if one was chosen, or what was pasted. Nothing is written to disk."""
    if not request.headers.get("content-type", "").startswith("multipart/form-data"):
        raise BadUpload("The form must be sent as multipart/form-data.")
    parser = MultiPartParser(request.headers, request.stream(), max_files=1, max_fields=4, max_part_size=LONGEST_BODY)
    parser.spool_max_size = LONGEST_BODY + 1  # longer files would go to disk, but longer bodies are refused before
    try:
        form = await parser.parse()
    except (MultiPartException, ValueError, KeyError):
        raise BadUpload("The form that was sent cannot be read.") from None
    try:
        file, pasted = form.get("file"), form.get("text")
        data = b"" if file is None or isinstance(file, str) else await file.read()
    finally:
        await form.close()
    if data.strip():
        return decode(data)
    return pasted if isinstance(pasted, str) else ""
