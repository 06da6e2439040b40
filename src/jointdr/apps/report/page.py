"""Contents as one HTML file: everything inline, nothing loaded, and nothing that came from data can run."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from jointdr.apps.report.contents import Contents
from jointdr.apps.report.facts import in_words
from jointdr.apps.report.words import format_number

HERE = Path(__file__).parent
STYLE = HERE.parent / "pages" / "style.css"


def template_of_reports() -> Any:
    """The template, which escapes all text; an ImportError that says how to get jinja2 where it is not installed."""
    try:
        from jinja2 import Environment, FileSystemLoader, StrictUndefined
    except ImportError:
        raise ImportError('A report takes jinja2: pip install "jointdr[report]".') from None
    environment = Environment(
        loader=FileSystemLoader(HERE), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["number"] = format_number
    environment.tests["said"] = lambda value: isinstance(value, str)
    return environment.get_template("report.html")


def render_page(template: Any, contents: Contents, title: str) -> str:
    """The page.

    The numbers and ids that the script draws are in a block of JSON, which browsers do not run. A content security
    policy allows the one style sheet and the one script of the page, by their hashes, and no request at all: even text
    that slipped through unescaped could not run.
    """
    from jointdr._version import __version__

    style, script = (path.read_text(encoding="utf-8") for path in (STYLE, HERE / "report.js"))
    drawn = {name: getattr(contents, name) for name in ("scree", "map", "calibration", "evaluation", "recommendations")}
    return template.render(
        title=title,
        version=__version__,
        contents=contents,
        tables={
            "Data and model": list(_fact_rows({name: v for name, v in contents.facts.items() if name != "parameters"})),
            "Parameters": [(name, in_words(value)) for name, value in contents.facts["parameters"].items()],
        },
        style=style,
        script=script,
        policy=policy(style, script),
        data=as_json({name: None if isinstance(value, str) else value for name, value in drawn.items()}),
    )


def policy(style: str, script: str) -> str:
    """The content security policy of a page with this style sheet and this script, and nothing else."""
    return (
        f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )


def as_json(value: Any) -> str:
    """JSON that can stand inside an HTML element: no "<" can end the element or begin another."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _fact_rows(facts: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Names and values as lines of a table; the size of one kind of things as a phrase."""
    for name, value in facts.items():
        if isinstance(value, Mapping) and {"name", "count", "features"} <= set(value):
            more = {key: v for key, v in value.items() if key not in ("name", "count", "features")}
            size = f"{value['name']}: {value['count']}, with {value['features']} features"
            yield name, ", ".join([size, *([in_words(more)] if more else [])])
        elif isinstance(value, Mapping) and "method" in value:
            own = {key: v for key, v in value.items() if key != "method"}
            yield name, f"{value['method']}, {in_words(own)}" if own else value["method"]
        elif isinstance(value, Mapping):
            for key, v in value.items():
                yield f"{name} {key}", in_words(v)
        else:
            yield name, in_words(value)


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
