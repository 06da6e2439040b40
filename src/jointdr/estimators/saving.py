"""Fitted estimators as a JSON-able header and plain arrays, and back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from jointdr.data import TableEncoder, Transform
from jointdr.directions import Basis, Embedding, Linear, Link, Multilinear, Prediction, Quadratic
from jointdr.estimators.inputs import name_features
from jointdr.estimators.options import exponent_of
from jointdr.moments import moments_from_arrays, moments_to_arrays
from jointdr.runtime import Array, checked_array, parameters_from_json, to_json

PER_VIEW_OF_EMBEDDING = ("bases", "spectra", "means", "support")


def estimator_to_arrays(model: Any) -> tuple[dict[str, Any], dict[str, Array]]:
    """A fitted `ViewsTransformer` as a JSON-able header and plain arrays."""
    embedding = model.solution_
    if model.response_.function is not None:
        raise TypeError(
            "A model whose response= is a function of your own cannot be saved, because loading must not run code: "
            "apply the function to y first and fit with response='identity'."
        )
    fitted = {k: v for k, v in vars(model).items() if k.endswith("_") and not k.startswith("_")}
    header: dict[str, Any] = {
        "params": {name: to_json(value) for name, value in model.get_params(deep=False).items()},
        "names": list(model.view_names_),
        "centred": getattr(embedding.prediction, "centred", True),
        "response": model.response_.kind,
        "numbers": {k: v for k, v in fitted.items() if isinstance(v, (int, str))},
        "moments_used": list(model.moments_used_),
        "output": getattr(model, "_sklearn_output_config", None),
        "moments": [],
    }
    arrays: dict[str, Array] = {"response": model.response_.grid, **_prediction_arrays(embedding)}
    for name in PER_VIEW_OF_EMBEDDING:
        arrays |= {f"{name}.{k}": v for k, v in enumerate(getattr(embedding, name))}
    if hasattr(model, "link_"):
        header["link"] = model.link_.kind
        arrays |= link_to_arrays(model.link_)
    for k, features in enumerate(model.feature_names_per_view_):
        if features is not None:
            arrays[f"features.{k}"] = np.asarray(features, dtype=str)
    for k, encoder in enumerate(getattr(model, "encoders_", ())):
        arrays |= {} if encoder is None else encoder.to_arrays(f"table.{k}")
    if model.views is not None and hasattr(model, "feature_names_in_"):
        arrays["feature_names_in"] = np.asarray(model.feature_names_in_, dtype=str)
    for i, part in enumerate(getattr(model, "_parts", [])):
        described, held = moments_to_arrays(part, f"moments{i}")
        header["moments"].append(described)
        arrays |= held
    return header, arrays


def estimator_from_arrays(cls: Any, header: Mapping[str, Any], arrays: Mapping[str, Array]) -> Any:
    """The model of this class that `estimator_to_arrays` took apart."""
    model = cls(**parameters_from_json(header["params"]))
    exponent_of(model.scale)  # which raises if it cannot be had
    for name, value in header["numbers"].items():
        if not name.endswith("_") or name.startswith("_") or hasattr(cls, name):
            raise ValueError(f"{name!r} is not found by a fit")
        setattr(model, name, value)
    model.solution_ = embedding = _embedding(header, arrays, multilinear=cls.__name__ == "JDR")
    model.view_names_ = tuple(map(str, header["names"]))
    model.n_features_per_view_ = tuple(len(U) for U in embedding.bases)
    model.feature_names_per_view_ = tuple(
        checked_array(arrays, f"features.{k}", (n,), "U").astype(object) if f"features.{k}" in arrays else None
        for k, n in enumerate(model.n_features_per_view_)
    )
    model.encoders_ = tuple(_encoder(arrays, f"table.{k}", n) for k, n in enumerate(model.n_features_per_view_))
    model.moments_used_ = tuple(header["moments_used"])
    model.response_ = Transform(header["response"], arrays["response"])
    if header.get("link") is not None:
        model.link_ = link_from_arrays(header["link"], arrays)
    if model.views is None:
        name_features(model)
    elif "feature_names_in" in arrays:
        model.feature_names_in_ = arrays["feature_names_in"].astype(object)
    if header["moments"]:
        model.keep_moments([moments_from_arrays(h, arrays, f"moments{i}") for i, h in enumerate(header["moments"])])
    if header["output"] is not None:
        model.set_output(**header["output"])
    return model


def _encoder(arrays: Mapping[str, Array], prefix: str, n_features: int) -> TableEncoder | None:
    if f"{prefix}.columns" not in arrays:
        return None
    encoder = TableEncoder.from_arrays(arrays, prefix)
    if len(encoder.get_feature_names_out()) != n_features:
        raise ValueError(f"its table has not the {n_features} features of its view")
    return encoder


def _prediction_arrays(embedding: Embedding) -> dict[str, Array]:
    """The prediction of an embedding; none is a linear one of no response."""
    prediction = embedding.prediction
    if prediction is None:
        return {"core": np.zeros((0, sum(embedding.ranks))), "y_mean": np.zeros(0)}
    arrays = {"core": prediction.core, "y_mean": prediction.y_mean}
    if isinstance(prediction, Multilinear):
        arrays |= {f"probes.{k}": P for k, P in enumerate(prediction.probes or ())}
        arrays |= {f"pairs.{j}.{k}": X for (j, k), X in (prediction.pairs or {}).items()}
    elif isinstance(prediction, Quadratic) and prediction.directions is not None:
        parts = np.split(prediction.directions, np.cumsum(embedding.ranks)[:-1], axis=1)
        arrays |= {f"probes.{k}": P for k, P in enumerate(parts)}
    return arrays


def _embedding(header: Mapping[str, Any], arrays: Mapping[str, Array], multilinear: bool) -> Embedding:
    bases = tuple(checked_array(arrays, f"bases.{k}", (None, None)) for k in range(len(header["names"])))
    if not bases or min(min(U.shape) for U in bases) == 0:
        raise ValueError("it has views without features or directions")

    def each(name: str, shapes: Iterable[tuple[int, ...]], kinds: str = "f") -> tuple[Array, ...]:
        return tuple(checked_array(arrays, f"{name}.{k}", shape, kinds) for k, shape in enumerate(shapes))

    features, ranks = sum(len(U) for U in bases), [U.shape[1] for U in bases]
    core, y_mean = (
        checked_array(arrays, "core", (None,) * arrays["core"].ndim),
        checked_array(arrays, "y_mean", (None,)),
    )
    probes = each("probes", ((features, r) for r in ranks)) if "probes.0" in arrays else None
    prediction: Prediction | None = None
    if multilinear:
        prediction = Multilinear(core, y_mean, bool(header["centred"]), probes, _pairs(arrays))
    elif core.ndim == 3:
        prediction = Quadratic(core, y_mean, None if probes is None else np.hstack(probes))
    elif len(core):
        prediction = Linear(core, y_mean)
    return Embedding(
        bases=bases,
        spectra=each("spectra", ((r,) for r in ranks)),
        means=each("means", ((len(U),) for U in bases)),
        support=each("support", ((len(U),) for U in bases), "b"),
        prediction=prediction,
    )


def _pairs(arrays: Mapping[str, Array]) -> dict[tuple[int, int], Array] | None:
    names = {name: tuple(map(int, name.split(".")[1:])) for name in arrays if name.startswith("pairs.")}
    return {(at[0], at[1]): arrays[name] for name, at in names.items()} or None


def link_to_arrays(link: Link) -> dict[str, Array]:
    """A fitted link function as plain arrays; its kind belongs into a header."""
    basis = {f"link.{name}": getattr(link.basis, name) for name in ("centre", "spread", "frequencies", "phases")}
    monomials = {f"link.monomials.{t}": at for t, at in enumerate(link.basis.monomials)}
    return {"link.theta": link.theta, **basis, **monomials}


def link_from_arrays(kind: str, arrays: Mapping[str, Array]) -> Link:
    """The link function of this kind that `link_to_arrays` took apart; a ValueError if these are not of one."""
    centre = checked_array(arrays, "link.centre", (None,))
    d = len(centre)
    spread, phases = checked_array(arrays, "link.spread", (d,)), checked_array(arrays, "link.phases", (None,))
    frequencies = checked_array(arrays, "link.frequencies", (d, len(phases)))
    monomials: list[Array] = []
    while (name := f"link.monomials.{len(monomials)}") in arrays:
        monomials.append(checked_array(arrays, name, (None, None), "i"))
    if not (spread > 0).all() or any(((at < 0) | (at >= d)).any() for at in monomials):
        raise ValueError(f"its link function is not one of {d} coordinates")
    basis = Basis(centre, spread, tuple(monomials), frequencies, phases)
    return Link(kind, basis, checked_array(arrays, "link.theta", (basis.width, None)))
