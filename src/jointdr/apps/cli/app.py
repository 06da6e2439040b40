"""All commands as one program, and errors as one sentence and an exit code."""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
import traceback
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Annotated, Any

import typer

from jointdr.apps.cli.demo import demo
from jointdr.apps.cli.evaluate import evaluate
from jointdr.apps.cli.explain import explain
from jointdr.apps.cli.explore_page import explore
from jointdr.apps.cli.fit import fit
from jointdr.apps.cli.info import info
from jointdr.apps.cli.options import expand_groups, option
from jointdr.apps.cli.output import complain, silence
from jointdr.apps.cli.predict import predict
from jointdr.apps.cli.recommend import recommend
from jointdr.apps.cli.report import report
from jointdr.apps.cli.reproduce import reproduce
from jointdr.apps.cli.similar import similar
from jointdr.apps.cli.terms import in_options
from jointdr.apps.cli.tune import tune
from jointdr.runtime import config_context

app = typer.Typer(name="jointdr", rich_markup_mode="rich", pretty_exceptions_enable=False)
for command in (fit, tune, predict, recommend, explain, similar, explore, evaluate, report, info, demo, reproduce):
    app.command()(expand_groups(command))

INTERRUPTED = 130
ANYWHERE = ("--debug", "--quiet", "--verbose")


def _version(wanted: bool) -> None:
    if wanted:
        from jointdr._version import __version__

        typer.echo(__version__)
        raise typer.Exit


Version = Annotated[
    bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and stop.")
]
Debug = Annotated[bool, option("--debug", help="Show where an error came from; may stand anywhere on the line.")]
Quiet = Annotated[bool, option("--quiet", help="No notes and no progress, only errors and warnings.")]
Verbose = Annotated[bool, option("--verbose", help="Also what is tried and chosen, and the seconds it takes.")]
Budget = Annotated[
    str | None,
    option(
        metavar="SIZE",
        help="Memory for work in blocks, such as 2GB; by default 3/4 of what is free. May stand anywhere.",
    ),
]


@app.callback()
def _about(
    version: Version = False,
    debug: Debug = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
    memory_budget: Budget = None,
) -> None:
    """Which unknown pairs of two kinds of things score high, also for things never seen before?

    \b
    jointdr demo                          a tour on real gene-disease data
    jointdr fit --pairs links.tsv --rows a.tsv --columns b.tsv -o model.npz
    jointdr recommend model.npz -k 5      the best new columns for every row
    jointdr COMMAND --help                options and examples
    """


def run(arguments: Sequence[str]) -> int:
    """Run a command line and return its exit code."""
    # These may stand anywhere on the line, also after a command, where typer would take them for its options.
    flags = {word for word in arguments if word in ANYWHERE}
    debug = "--debug" in flags
    budget, rest = _take_budget([word for word in arguments if word not in ANYWHERE])
    if {"--quiet", "--verbose"} <= flags:
        return _report(ValueError("--quiet and --verbose cannot be given together: leave one out."))
    arguments = _repeat_views(rest or ["--help"])
    with warnings.catch_warnings(), _sigterm_as_ctrl_c() as signals:
        warnings.showwarning = lambda message, *_, **__: complain(f"Warning: {in_options(_one_line(message))}")
        try:
            with config_context(memory_budget=budget), silence("--quiet" in flags), _logged("--verbose" in flags):
                code = app(list(arguments), prog_name="jointdr", standalone_mode=False)
            sys.stdout.flush()
        except (BrokenPipeError, SystemExit) as ended:
            # The reader, `head` for example, has seen enough; what is left must not fail again when Python ends.
            if isinstance(ended, SystemExit) and not isinstance(ended.__context__, BrokenPipeError):
                raise  # typer makes the one of the other
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return 0
        except (KeyboardInterrupt, typer.Abort):
            code = INTERRUPTED
        except Exception as error:
            if debug:
                traceback.print_exc()
            return _report(error)
    if code == INTERRUPTED:  # which is also what newer releases of typer return for Ctrl-C
        complain("Terminated." if signals else "Interrupted.")
        return 128 + signals[0] if signals else INTERRUPTED
    return code if isinstance(code, int) else 0


def _take_budget(arguments: list[str]) -> tuple[str | None, list[str]]:
    """The value of ``--memory-budget``, wherever it stands (the last one counts), and the other words."""
    budget, rest, words = None, [], iter(arguments)
    for word in words:
        name, equals, value = word.partition("=")
        if name != "--memory-budget":
            rest.append(word)
        elif (given := value if equals else next(words, None)) is None:
            rest.append(word)  # without its value, which typer reports
        else:
            budget = given
    return budget, rest


@contextmanager
def _logged(is_verbose: bool) -> Iterator[None]:
    """Write the log of the library to standard error, if asked for."""
    if not is_verbose:
        yield
        return
    log, handler = logging.getLogger("jointdr"), logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(asctime)s  %(message)s", "%H:%M:%S"))
    before = log.level
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    try:
        yield
    finally:
        log.removeHandler(handler)
        log.setLevel(before)


@contextmanager
def _sigterm_as_ctrl_c() -> Iterator[list[int]]:
    """Let SIGTERM end a command as Ctrl-C does, so that checkpoints are written; the signals that came."""
    signals: list[int] = []

    def end(number: int, frame: Any) -> None:
        signals.append(number)
        raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():  # where no handler can be set
        yield signals
        return
    before = signal.signal(signal.SIGTERM, end)
    try:
        yield signals
    finally:
        signal.signal(signal.SIGTERM, before)


def _repeat_views(arguments: list[str]) -> list[str]:
    """``--views a=x b=y`` as ``--views a=x --views b=y``: an option of typer takes several values in this form only."""
    words: list[str] = []
    inside = False
    for word in arguments:
        if inside and len(words) > 1 and words[-1] != "--views" and "=" in word and not word.startswith("-"):
            words.append("--views")
        inside = word.split("=")[0] == "--views" or (inside and not word.startswith("-"))
        words.append(word)
    return words


def _report(error: Exception) -> int:
    """Write one sentence about an error to standard error, and return the exit code."""
    if hasattr(error, "format_message"):  # of the command line itself: an option that is missing or unknown
        complain(f"Error: {_one_line(error.format_message())}")
        return 2
    if isinstance(error, OSError) and error.strerror:
        where = f"{os.fsdecode(error.filename)}: " if error.filename else ""
        complain(f"Error: {where}{error.strerror}.")
        return 2
    if isinstance(error, (ValueError, OSError, ImportError)):
        complain(f"Error: {in_options(_one_line(error))}")
        return 2
    complain(f"Error of the program, {type(error).__name__}: {_one_line(error)} (--debug shows where it came from)")
    return 1


def _one_line(message: Any) -> str:
    return " ".join(str(message).split())
