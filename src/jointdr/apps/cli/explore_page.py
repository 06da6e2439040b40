"""``jointdr explore``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from jointdr.apps.cli.inputs import open_explainer
from jointdr.apps.cli.options import Model, option
from jointdr.apps.cli.output import say, working

Port = Annotated[int, option("--port", metavar="N", help="A port of this machine; 0 takes any that is free.")]
RowsTable = Annotated[
    Path | None,
    option(
        "--rows-table",
        metavar="FILE",
        help="Other names of rows than those of the model: ids first, and a column name.",
    ),
]
ColumnsTable = Annotated[
    Path | None, option("--columns-table", metavar="FILE", help="Other names of columns: ids first, and a column name.")
]


def explore(model: Model, rows_table: RowsTable = None, columns_table: ColumnsTable = None, port: Port = 8765) -> None:
    """Look through a model on a local page: search, rankings, why, nearest, a map, and rankings for new rows.

    The page is on 127.0.0.1, so that only this machine sees it. Ctrl-C ends it.

    \b
    Examples:
      jointdr explore model.npz
      jointdr explore model.npz --rows-table diseases.tsv --columns-table genes.tsv --port 9000
    """
    _require_packages()
    from jointdr.apps.explore.catalog import read_names
    from jointdr.apps.explore.server import HOST, bind, serve
    from jointdr.apps.explore.session import Session

    found = bind(port)  # before anything that takes long
    try:
        rows, columns = (None if path is None else read_names(path) for path in (rows_table, columns_table))
        with working("reading the model"):
            session = Session(open_explainer(model), (rows, columns), model.name)
            session.warm()
        say(f"{model} is at http://{HOST}:{found.getsockname()[1]} (Ctrl-C ends it)")
        serve(session, found)
    except KeyboardInterrupt:
        return
    finally:
        found.close()


def _require_packages() -> None:
    try:
        import jinja2  # noqa: F401
        import python_multipart  # noqa: F401
        import starlette  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError:
        raise ImportError('The page takes Starlette, Jinja2 and uvicorn: pip install "jointdr[app]".') from None
