"""Checks of a fitted model and its data against the assumptions of the theorems: findings, each with advice."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from jointdr.data import checked_response, checked_weight, tail_check
from jointdr.diagnostics.bounds import correlation_edge, suggested_samples
from jointdr.diagnostics.evidence import CLEAR_OF_NOISE, STRONG, Evidence
from jointdr.directions import CROSS, EXACT_UP_TO, whiteners
from jointdr.estimators import JDR, check_views, jdr_options

Level = Literal["ok", "not checked", "look", "problem"]
LEVELS: tuple[Level, ...] = ("ok", "not checked", "look", "problem")

# Correlations that bias the embeddings: 4 % more error at 0.2, 19 % at 0.3 (bilinear, n = 100, r = 5, m = 500 000).
DEPENDENT = 0.2
# m/(n₁ + n₂) that is advisable: the bilinear model with r = 5 then has NSEE 0.26. A tenth of it is a problem.
ROWS_PER_FEATURE = 50.0
GIVE_DATA = "to check the rest, give the data: diagnose(model, X, y)."


@dataclass(frozen=True, eq=False)
class Finding:
    """The result of one check.

    Attributes
    ----------
    name : str
    level : {"ok", "not checked", "look", "problem"}
    value : float, array or None
        The number behind the sentence.
    text : str
        The finding in a sentence.
    advice : str
        A remedy to try; empty where nothing is to be done.
    """

    name: str
    level: Level
    value: Any
    text: str
    advice: str = ""


@dataclass(frozen=True, eq=False)
class Diagnosis:
    """The result of `diagnose`: print it, or read it by name, ``diagnosis["signal"].level``.

    Attributes
    ----------
    findings : tuple of Finding
        ``"signal"``, ``"link"``, ``"dependence"``, ``"skewness"``, ``"tails"`` and ``"rows"``.
    """

    findings: tuple[Finding, ...]

    @property
    def level(self) -> Level:
        """The worst level of all findings."""
        return max((f.level for f in self.findings), key=LEVELS.index)

    def __getitem__(self, name: str) -> Finding:
        found = {finding.name: finding for finding in self.findings}
        if name not in found:
            raise KeyError(f"{name!r} was not checked; there is {', '.join(found)}.")
        return found[name]

    def __iter__(self) -> Iterator[Finding]:
        return iter(self.findings)

    def __str__(self) -> str:
        lines = []
        for f in self.findings:
            lines.append(f"{f.name:11s} {f.level:12s} {f.text}")
            if f.advice and f.level != "not checked":
                lines.append(f"{'':24s} → {f.advice}")
        # Findings that were not checked mostly lack the same thing: its advice is given once.
        lines += dict.fromkeys(f"→ {f.advice}" for f in self.findings if f.advice and f.level == "not checked")
        return "\n".join(lines)


def diagnose(model: JDR, X: Any = None, y: Any = None, sample_weight: Any = None) -> Diagnosis:
    """Check a fitted model for the causes that make JDR fail, and give remedies.

    Parameters
    ----------
    model : JDR
        Fitted, on two views.
    X, y, sample_weight : as in `JDR.fit`, optional
        The data of the fit. With X and y, all moments are computed again, within-view ones and C_ab among them, if no
        view has more than 2000 features. Without, only ``model.moments_`` is used. Skewness needs X, tails need y.

    Returns
    -------
    Diagnosis
        ``"signal"``
            The singular values of the cross moments against `noise_edge`: how many are clear of it (value: the ratios).
        ``"link"``
            Whether Q is singular: whether within-view moments E[(y − µ) a aᵀ] or means E[(y − µ) a] show directions
            beyond noise that are not among the strong ones of the cross moments (value: how many, of the view with
            more of them). It is a problem if, as with even links, fewer cross directions than asked for are clear.
        ``"dependence"``
            The largest canonical correlation between the views (value), against `correlation_edge`. Where only
            variances were kept, the largest correlation of two features.
        ``"skewness"``
            Of the features (value: the largest in absolute value).
        ``"tails"``
            Of the response after its transform, by `jointdr.tail_check` (value: the tail index).
        ``"rows"``
            The effective number of rows (value: its ratio to what is advisable: `suggested_samples` for light tails
            without the logarithms and with the constant 50, or for the selected features).

    Notes
    -----
    O(n³) from moments, and two reads of the data, of O(m n²) and O(m n), where it is given.

    Examples
    --------
    >>> from jointdr import JDR
    >>> from jointdr.datasets import make_even
    >>> from jointdr.diagnostics import diagnose
    >>> X, y, _ = make_even(20_000, n_features=20, n_components=2, random_state=0)
    >>> diagnosis = diagnose(JDR(n_components=2).fit(X, y), X, y)
    >>> diagnosis["link"].level
    'problem'
    """
    if not isinstance(model, JDR):
        raise TypeError(f"diagnose takes a fitted JDR, but got {type(model).__name__}.")
    ranks = tuple(U.shape[1] for U in model.embeddings_)
    if len(ranks) != 2:
        raise ValueError(f"diagnose is for two views, got a model of {len(ranks)}.")
    views = None if X is None else check_views(model, X, reset=False, minimum_rows=2)
    n_rows = len(views) if views is not None else (None if y is None else len(y))
    index = None if views is None else views.index
    w = None if n_rows is None else checked_weight(sample_weight, n_rows, index=index)
    Y = None if y is None or n_rows is None else model.response_(checked_response(y, n_rows, "diagnose", index))
    options = jdr_options(model, 1 if Y is None else Y.shape[1], once=True)
    options = replace(options, ranks=ranks, uses=frozenset(model.moments_used_), features=(None, None))
    evidence = Evidence(model, options, views, Y, w)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # about constant features and singular covariances, which fit has given already
        checks = (_signal, _link, _dependence, _skewness, _tails, _rows)
        return Diagnosis(tuple(check(evidence) for check in checks))


def _signal(evidence: Evidence) -> Finding:
    ratios, clear = evidence.ratios, evidence.clear
    if ratios is None or clear is None:
        return _not_checked(evidence, "signal", "the noise is not known")
    r = min(evidence.options.ranks)
    shown = ", ".join(f"{v:.1f}" for v in ratios[: min(r, 8)]) + (", ..." if r > 8 else "")
    text = f"{min(clear, r)} of {r} singular values are clear of the noise; in units of its edge: {shown}."
    if clear >= r and ratios[r - 1] < STRONG and (evidence.size or 0.0) < _advisable_rows(evidence):
        advice = (
            "noise may reach twice its edge with few or unevenly weighted rows: see jointdr.diagnostics.rank_profile."
        )
        return Finding("signal", "look", ratios, text, advice)
    if clear >= r:
        return Finding("signal", "ok", ratios, text)
    if evidence.options.within_views and clear + evidence.unseen >= r:
        return Finding("signal", "ok", ratios, f"{text} Moments beside the cross ones show the others.")
    level: Level = "look" if clear else "problem"
    if evidence.unseen:
        return Finding("signal", level, ratios, text, "see 'link'.")
    more = "more rows" if evidence.options.within_views else "moments='all' or more rows"
    advice = f"try {more}, or response='slices' for links that act on the spread of y."
    if clear:
        advice = f"try n_components={clear}, {more}; see jointdr.diagnostics.rank_profile."
    return Finding("signal", level, ratios, text, advice)


def _not_checked(evidence: Evidence, name: str, text: str) -> Finding:
    if evidence.views is not None and evidence.Y is not None:
        return Finding(name, "not checked", None, f"{text}: a view has more than {EXACT_UP_TO} features.")
    return Finding(name, "not checked", None, f"{text}.", GIVE_DATA)


def _link(evidence: Evidence) -> Finding:
    clear, unseen = evidence.clear, evidence.unseen
    if clear is None:
        return _not_checked(evidence, "link", "the noise is not known")
    enough = clear >= min(evidence.options.ranks)
    if unseen:
        text = f"within-view moments or means show about {unseen} direction(s) that cross moments do not show well."
        if evidence.options.within_views:
            return Finding("link", "ok", unseen, f"{text} They are used.")
        if evidence.n_skewed:  # which alone makes within-view moments of main effects
            level: Level = "ok" if enough else "look"
            advice = "" if enough else "try moments='all', which uses them if held-out rows do not object."
            return Finding("link", level, unseen, f"{text} Skewed features may be why.", advice)
        level = "look" if enough else "problem"
        return Finding("link", level, unseen, f"{'' if enough else 'Q looks singular: '}{text}", "use moments='all'.")
    if enough:
        return Finding("link", "ok", 0, "Q is not singular: cross moments show all directions asked for.")
    if evidence.moments is None:
        return _not_checked(evidence, "link", "no moments were kept")
    if (0, 0) not in evidence.moments.thirds:
        text = "cross moments do not show all directions asked for; whether others do needs within-view moments."
        return Finding("link", "look", 0, text, "try moments='all', or give the data: diagnose(model, X, y).")
    return Finding("link", "ok", 0, "no moments show more directions than the cross ones.")


def _dependence(evidence: Evidence) -> Finding:
    moments = evidence.moments
    if moments is None or (0, 1) not in moments.cross_scatters or any(M is None for M in moments.scatters):
        return _not_checked(evidence, "dependence", "the covariance between the views was not kept")
    centred = moments.central()
    full = all(M.ndim == 2 for M in centred.scatters if M is not None)
    a, b = whiteners(moments, replace(evidence.options, normalize="full" if full else "feature", ridge=0.0))
    correlations = b.pull(a.pull(centred.cross_covariance(0, 1)).T)
    n, size = (max(1, a.rank), max(1, b.rank)), evidence.size or 1.0
    if full:
        what, edge = "canonical correlation", correlation_edge(n, size)
        value = float(np.linalg.norm(correlations, 2))
    else:
        # Singular values would depend on the correlations within the views, which are not known; single entries do not.
        what, edge = "correlation of two features", float(np.sqrt(2 * np.log(20 * n[0] * n[1]) / size))
        value = float(np.max(np.abs(correlations)))
    text = f"largest {what} between the views {value:.2f}; independent ones would show {edge:.2f}."
    if value <= CLEAR_OF_NOISE * edge:
        return Finding("dependence", "ok", value, text)
    if evidence.options.normalize == "joint":
        return Finding("dependence", "ok", value, f"{text} normalize='joint' allows for it.")
    level: Level = "problem" if value > DEPENDENT else "look"
    return Finding("dependence", level, value, text, "use normalize='joint', which allows for dependent views.")


def _skewness(evidence: Evidence) -> Finding:
    found, many = evidence.skewness, evidence.n_skewed
    if found is None:
        return _not_checked(evidence, "skewness", "it needs the features")
    value = float(np.max(np.abs(found)))
    text = f"{many} of {len(found)} features are skewed; the largest skewness is {value:.1f}."
    if not many:
        return Finding("skewness", "ok", value, text)
    used = sorted(evidence.options.uses - CROSS)
    if used:
        advice = "transform skewed features (logarithm, ranks), or use moments='cross'."
        return Finding("skewness", "problem", value, f"{text} The fit uses {' and '.join(used)} moments.", advice)
    advice = "do not trust within-view moments and means; transform these features (logarithm, ranks) if you can."
    return Finding("skewness", "look", value, text, advice)


def _tails(evidence: Evidence) -> Finding:
    if evidence.Y is None:
        return _not_checked(evidence, "tails", "it needs y")
    if evidence.model.response_.kind in ("rank", "clip", "slices", "class"):
        return Finding("tails", "ok", 0.0, f"response={evidence.model.response_.kind!r} has no heavy tails.")
    Y = evidence.Y if evidence.weight is None else evidence.Y[evidence.weight > 0]
    if len(Y) < 1000:
        return Finding("tails", "not checked", None, "fewer than 1000 rows do not show the tails of y.")
    tail = max((tail_check(column) for column in Y.T), key=lambda t: (t.is_heavy, t.tail_index))
    if tail.is_heavy:
        text = f"y has heavy tails (tail index {tail.tail_index:.2f}): a few rows may decide the fit."
        return Finding("tails", "problem", tail.tail_index, text, f"use response={tail.option!r}.")
    return Finding("tails", "ok", tail.tail_index, f"y has no heavy tails (tail index {tail.tail_index:.2f}).")


def _rows(evidence: Evidence) -> Finding:
    if evidence.size is None:
        return _not_checked(evidence, "rows", "their number is not known")
    n, size, needed = evidence.n_features, evidence.size, _advisable_rows(evidence)
    text = f"{size:.0f} effective rows for {n[0]} and {n[1]} features; {needed:.0f} or more are advisable."
    if size >= needed:
        return Finding("rows", "ok", size / needed, text)
    model = evidence.model
    level: Level = "problem" if size < needed / 10 else "look"
    untried = {
        "ridge='auto'": model.ridge == 0 and model.normalize is not None,
        "refine=2": model.refine == 0 and model.normalize is not None,
        "normalize='feature'": model.normalize in ("full", "joint"),
        "n_features_to_select='auto'": evidence.selected is None,
    }
    advice = ", ".join(option for option, is_untried in untried.items() if is_untried)
    return Finding("rows", level, size / needed, text, f"try more rows{', ' if advice else ''}{advice}.")


def _advisable_rows(evidence: Evidence) -> float:
    needed = _light_tailed(evidence.n_features)
    if evidence.selected is None:
        return needed
    sparse = suggested_samples(evidence.n_features, n_informative=evidence.selected).sparse or 0.0
    return min(needed, max(sparse, _light_tailed(evidence.selected)))


def _light_tailed(n: tuple[int, int]) -> float:
    return suggested_samples(n, constant=ROWS_PER_FEATURE, logarithms=False).light_tailed
