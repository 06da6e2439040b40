"""Models from options."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jointdr.apps.cli.options import Settings

if TYPE_CHECKING:
    from jointdr.data import Dyads
    from jointdr.prediction import Recommender

METHODS = ("auto", "jdr", "pca", "phd", "sols", "imc", "none")
OF_RANK_AUTO = ("auto", "jdr")  # the methods that can choose the number of directions
OF_EMBEDDINGS = ("head", "kernel", "bandwidth", "raw_bandwidth", "mix", "scale", "borrow", "adaptive", "nearest")
DIRECTIONS, COMPLETION_DIRECTIONS = 80, 10  # of embeddings and of imc by default; fewer where features are fewer


def takes_similarity(settings: Settings) -> bool:
    """Whether the model that the options describe compares entities by similarities, where there are some.

    Others are given features that are made of these.
    """
    return is_automatic(settings)


def is_automatic(settings: Settings) -> bool:
    """Whether the model is left to the data: no method is named, and no option that belongs to one is given."""
    named = (*OF_EMBEDDINGS, "alpha", "rank", "ridge")
    return settings.method == "auto" and all(getattr(settings, name) is None for name in named)


def model_of(settings: Settings, dyads: Dyads) -> Recommender:
    """The model that the options describe, not fitted; an option that it does not take is a ValueError."""
    from jointdr import IMC, AssociationModel

    if settings.method not in METHODS:
        raise ValueError(f"--method {settings.method} is not understood; choose from {', '.join(METHODS)}.")
    given: dict[str, Any] = {name: parse_value(name, getattr(settings, name)) for name in (*OF_EMBEDDINGS, "alpha")}
    given = {name: value for name, value in given.items() if value is not None}
    if settings.method == "imc":
        refuse([name for name in ("uses", "criterion") if getattr(settings, name) is not None], "imc")
        refuse([*(set(given) & set(OF_EMBEDDINGS)), *(["ridge"] if settings.ridge else [])], "imc")
        return IMC(rank_of(settings, _most(COMPLETION_DIRECTIONS, dyads)), **given, random_state=settings.seed)
    criterion = _criterion(settings, dyads)
    if is_automatic(settings):
        return AssociationModel(**_uses(settings), **criterion, random_state=settings.seed)
    if settings.uses is not None:
        raise ValueError(f"--uses is for --method auto, which chooses by itself: leave it out, or {_named(settings)}.")
    parameters = {"head": "kernel", **given, **criterion}
    return AssociationModel(_embedding(settings, dyads), **parameters, random_state=settings.seed)


def _named(settings: Settings) -> str:
    if settings.method != "auto":
        return f"--method {settings.method}"
    names = (*OF_EMBEDDINGS, "alpha", "rank", "ridge")
    return f"--{next(name for name in names if getattr(settings, name) is not None).replace('_', '-')}"


def _uses(settings: Settings) -> dict[str, Any]:
    from jointdr.data import BY

    if settings.uses is None:
        return {}
    uses = tuple(part.strip() for part in settings.uses.split(","))
    if not set(uses) <= set(BY):
        raise ValueError(f"--uses {settings.uses} is not understood; give some of {','.join(BY)}.")
    return {"uses": uses}


def _criterion(settings: Settings, dyads: Dyads) -> dict[str, Any]:
    from jointdr.prediction import check_criterion

    if settings.criterion is None:
        return {}
    try:
        return {"criterion": check_criterion(settings.criterion, dyads.is_implicit)}
    except ValueError as error:
        raise ValueError(
            str(error).replace(f"criterion={settings.criterion!r}", f"--criterion {settings.criterion}")
        ) from None


def _embedding(settings: Settings, dyads: Dyads) -> Any:
    from jointdr import JDR, PCA, PHD, SOLS

    if settings.method == "none":
        refuse([name for name in ("rank", "ridge") if getattr(settings, name) is not None], "none")
        return None
    kinds: dict[str, Any] = {"auto": JDR, "jdr": JDR, "pca": PCA, "phd": PHD, "sols": SOLS}
    most = 1 if settings.method == "sols" else DIRECTIONS  # it has more for subpopulations only
    embedding = kinds[settings.method](rank_of(settings, _most(most, dyads)))
    if settings.ridge is not None:
        refuse([] if "ridge" in embedding.get_params() else ["ridge"], settings.method)
        embedding.set_params(ridge=parse_value("ridge", settings.ridge))
    return embedding


def rank_of(settings: Settings, usual: int) -> Any:
    """The number of directions, or "auto" where the method can choose it."""
    if settings.rank is None:
        return usual
    if settings.rank == "auto":
        if settings.method not in OF_RANK_AUTO:
            raise ValueError(f"--rank auto is for --method jdr: give a number with --method {settings.method}.")
        return "auto"
    if not settings.rank.isdecimal() or int(settings.rank) < 1:
        raise ValueError(f"--rank {settings.rank} is not understood; give a number of directions >= 1, or auto.")
    return int(settings.rank)


def _most(most: int, dyads: Dyads) -> int:
    """A number of directions that these features can have: centred ones span fewer than there are entities."""
    return max(1, min(most, *dyads.n_features, *(m - 1 for m in dyads.shape)))


def refuse(names: list[str], method: str) -> None:
    """Raise if an option is given that the method does not take."""
    if names:
        option = f"--{sorted(names)[0].replace('_', '-')}"
        raise ValueError(f"{option} does not belong to --method {method}: leave it out.")


def parse_value(name: str, value: Any) -> Any:
    """The value of an option that may be a word, a number, or one for rows and one for columns."""
    if not isinstance(value, str) or name in ("head", "kernel") or value in ("auto", "left-out rows", "sqrt"):
        return value
    if name == "nearest" and value == "none":
        return (None, None)  # None by itself is an option that was not given
    try:
        numbers = [int(part) if name == "nearest" else float(part) for part in value.split(",")]
    except ValueError:
        numbers = []
    if not 1 <= len(numbers) <= (2 if name in ("bandwidth", "raw_bandwidth", "mix", "nearest") else 1):
        raise ValueError(f"--{name.replace('_', '-')} {value} is not understood; see --help.")
    return numbers[0] if len(numbers) == 1 else (numbers[0], numbers[1])
