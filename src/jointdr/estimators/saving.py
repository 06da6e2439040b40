"""Models on disk: one ``.npz`` file of plain arrays with a JSON header. Loading can never run code."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, TypeVar

import numpy as np
from scipy import sparse

from jointdr.data.response import Transform
from jointdr.directions.embedding import Embedding
from jointdr.directions.refine.link_functions import Basis, Link
from jointdr.moments.block_sums import Keep
from jointdr.moments.moments import Moments
from jointdr.runtime.archive import Archive, checked_csr, stored
from jointdr.runtime.arrays import Array, is_sparse
from jointdr.runtime.files import whole_file
from jointdr.runtime.memory import MemoryBudgetError

Made = TypeVar("Made")

FORMAT = 1
PER_VIEW_OF_EMBEDDING = ("bases", "spectra", "means", "support", "probes")


def save(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted `ViewsTransformer`."""
    write(path, type(model).__name__, *described(model))


def load(cls: Any, path: str | os.PathLike[str]) -> Any:
    """Read a model of this class that `save` wrote."""
    return opened(path, cls.__name__, partial(restored, cls))


def described(model: Any) -> tuple[dict[str, Any], dict[str, Array]]:
    """A fitted `ViewsTransformer` as a JSON-able header and plain arrays."""
    if model.response_.function is not None:
        raise TypeError(
            "A model whose response= is a function of your own cannot be saved, because loading must not run code: "
            "apply the function to y first and fit with response='identity'."
        )
    embedding = model._solved()
    fitted = {k: v for k, v in vars(model).items() if k.endswith("_") and not k.startswith("_")}
    header: dict[str, Any] = {
        "params": {name: to_json(value) for name, value in model.get_params(deep=False).items()},
        "names": list(model.view_names_),
        "centred": embedding.centred,
        "response": model.response_.kind,
        "numbers": {k: v for k, v in fitted.items() if isinstance(v, (int, str))},
        "moments_used": list(model.moments_used_),
        "output": getattr(model, "_sklearn_output_config", None),
        "moments": [],
    }
    arrays: dict[str, Array] = {"core": embedding.core, "y_mean": embedding.y_mean, "response": model.response_.grid}
    for name in PER_VIEW_OF_EMBEDDING:
        arrays |= {f"{name}.{k}": v for k, v in enumerate(getattr(embedding, name) or ())}
    if hasattr(model, "link_"):
        header["link"] = model.link_.kind
        arrays |= _link_arrays(model.link_)
    arrays |= {f"pairs.{j}.{k}": X for (j, k), X in (embedding.pairs or {}).items()}
    for k, features in enumerate(model._feature_names):
        if features is not None:
            arrays[f"features.{k}"] = np.asarray(features, dtype=str)
    if hasattr(model, "feature_names_in_"):
        arrays["feature_names_in"] = np.asarray(model.feature_names_in_, dtype=str)
    for i, part in enumerate(getattr(model, "_parts", [])):
        described, held = flattened(part, f"moments{i}")
        header["moments"].append(described)
        arrays |= held
    return header, arrays


def restored(cls: Any, header: Mapping[str, Any], arrays: Mapping[str, Array]) -> Any:
    """The model of this class that `described` took apart."""
    model = cls(**{name: from_json(value) for name, value in header["params"].items()})
    model._exponent()  # which raises if it cannot be had
    for name, value in header["numbers"].items():
        if not name.endswith("_") or name.startswith("_") or hasattr(cls, name):
            raise ValueError(f"{name!r} is not found by a fit")
        setattr(model, name, value)
    model._embedding = _embedding(header, arrays)
    model.view_names_ = tuple(map(str, header["names"]))
    model.n_features_per_view_ = tuple(len(U) for U in model._embedding.bases)
    model._feature_names = tuple(
        stored(arrays, f"features.{k}", (n,), "U").astype(object) if f"features.{k}" in arrays else None
        for k, n in enumerate(model.n_features_per_view_)
    )
    model.moments_used_ = tuple(header["moments_used"])
    model.response_ = Transform(header["response"], arrays["response"])
    if header.get("link") is not None:
        model.link_ = _link(header["link"], arrays)
    if "feature_names_in" in arrays:
        model.feature_names_in_ = arrays["feature_names_in"].astype(object)
    if header["moments"]:
        model._set_parts([rebuilt(h, arrays, f"moments{i}") for i, h in enumerate(header["moments"])])
    if header["output"] is not None:
        model.set_output(**header["output"])
    return model


def _embedding(header: Mapping[str, Any], arrays: Mapping[str, Array]) -> Embedding:
    """The fitted maps, whose shapes belong together."""
    bases = tuple(stored(arrays, f"bases.{k}", (None, None)) for k in range(len(header["names"])))
    if not bases or min(min(U.shape) for U in bases) == 0:
        raise ValueError("it has views without features or directions")

    def each(name: str, shapes: Iterable[tuple[int, ...]], kinds: str = "f") -> tuple[Array, ...]:
        return tuple(stored(arrays, f"{name}.{k}", shape, kinds) for k, shape in enumerate(shapes))

    features, ranks = sum(len(U) for U in bases), [U.shape[1] for U in bases]
    return Embedding(
        bases=bases,
        spectra=each("spectra", ((r,) for r in ranks)),
        core=stored(arrays, "core", (None,) * arrays["core"].ndim),
        means=each("means", ((len(U),) for U in bases)),
        y_mean=stored(arrays, "y_mean", (None,)),
        support=each("support", ((len(U),) for U in bases), "b"),
        centred=bool(header["centred"]),
        probes=each("probes", ((features, r) for r in ranks)) if "probes.0" in arrays else None,
        pairs=_pairs(arrays),
    )


def _pairs(arrays: Mapping[str, Array]) -> dict[tuple[int, int], Array] | None:
    names = {name: tuple(map(int, name.split(".")[1:])) for name in arrays if name.startswith("pairs.")}
    return {(at[0], at[1]): arrays[name] for name, at in names.items()} or None


def _link_arrays(link: Link) -> dict[str, Array]:
    basis = {f"link.{name}": getattr(link.basis, name) for name in ("centre", "spread", "frequencies", "phases")}
    monomials = {f"link.monomials.{t}": at for t, at in enumerate(link.basis.monomials)}
    return {"link.theta": link.theta, **basis, **monomials}


def _link(kind: str, arrays: Mapping[str, Array]) -> Link:
    monomials: list[Array] = []
    while f"link.monomials.{len(monomials)}" in arrays:
        monomials.append(arrays[f"link.monomials.{len(monomials)}"])
    rest = {name: arrays[f"link.{name}"] for name in ("centre", "spread", "frequencies", "phases")}
    return Link(kind, Basis(monomials=tuple(monomials), **rest), arrays["link.theta"])


def write(path: str | os.PathLike[str], kind: str, header: Mapping[str, Any], arrays: Mapping[str, Array]) -> None:
    """Write arrays and a header to one file, whole or not at all."""
    from jointdr import __version__

    plain = {name: np.ascontiguousarray(value) for name, value in arrays.items()}
    bad = [name for name, value in plain.items() if value.dtype.hasobject]
    if bad:
        raise TypeError(f"Arrays of Python objects cannot be saved: {bad}.")
    full = {
        **header,
        "format": FORMAT,
        "library": __version__,
        "kind": kind,
        "checksums": {name: _checksum(value) for name, value in plain.items()},
    }
    text = json.dumps(full).encode()
    plain["header"] = np.frombuffer(text, dtype=np.uint8)
    plain["seal"] = np.frombuffer(hashlib.sha256(text).digest(), dtype=np.uint8)
    with whole_file(path) as file:
        np.savez(file, **plain)  # type: ignore[arg-type]


def read(path: str | os.PathLike[str], kind: str) -> tuple[dict[str, Any], dict[str, Array]]:
    """The header and the arrays of a file that `write` made; anything else is a ValueError that says what is wrong."""
    header, arrays, is_whole = _contents(path, None)
    if header.get("kind") != kind:
        raise ValueError(f"{os.fspath(path)} holds a {header.get('kind')} model, not a {kind} model.")
    found = {name: _checksum(value) for name, value in arrays.items()}
    if found != header.get("checksums") or not is_whole:
        raise ValueError(f"{os.fspath(path)} has been altered or damaged: its contents do not match their checksums.")
    return header, arrays


def opened(path: str | os.PathLike[str], kind: str, make: Callable[[dict[str, Any], dict[str, Array]], Made]) -> Made:
    """What `make` makes of the header and the arrays of a file that `write` made.

    Checksums tell damage, but anybody can compute them: whatever is wrong with the contents is a ValueError too.
    """
    header, arrays = read(path, kind)
    try:
        return make(header, arrays)
    except (MemoryError, MemoryBudgetError, ImportError):  # which say nothing about the file
        raise
    except Exception as error:
        what = f"lacks {error}" if isinstance(error, KeyError) else f"is not as it is written: {error}"
        raise ValueError(f"{os.fspath(path)} holds no whole {kind} model; what it holds {what}.") from error


def header_of(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The header of a file that `write` made, without reading its arrays: its ``kind``, ``library`` and so on."""
    return _contents(path, ("header", "seal"))[0]


def _contents(
    path: str | os.PathLike[str], only: tuple[str, ...] | None
) -> tuple[dict[str, Any], dict[str, Array], bool]:
    """The header, the other arrays (or only some), and whether the header is as it was written."""
    with Archive(path, "jointdr file") as file:
        if "header" not in file or "seal" not in file:
            raise ValueError(f"{os.fspath(path)} is not a jointdr file: it is an archive without a header.")
        arrays = {name: file[name] for name in only or file}
    text, seal = arrays.pop("header").tobytes(), arrays.pop("seal").tobytes()
    try:
        header = json.loads(text.decode())
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{os.fspath(path)} is not a whole jointdr file: its header is damaged ({error}).") from error
    if not isinstance(header, dict) or not isinstance(header.get("format"), int):
        raise ValueError(f"{os.fspath(path)} is not a jointdr file: its header has no format.")
    if not isinstance(header.get("kind"), str):
        raise ValueError(f"{os.fspath(path)} is not a jointdr file: its header does not say of what kind it is.")
    if header["format"] > FORMAT:
        raise ValueError(
            f"{os.fspath(path)} was written by jointdr {header.get('library')} in format {header['format']}; "
            f"this version reads up to format {FORMAT}. Update jointdr to load it."
        )
    return header, arrays, hashlib.sha256(text).digest() == seal


def packed(name: str, X: Array) -> dict[str, Array]:
    """A dense or sparse matrix as plain arrays whose names begin with `name`."""
    if not is_sparse(X):
        return {name: np.asarray(X)}
    X = sparse.csr_array(X)
    parts = {part: getattr(X, part) for part in ("data", "indices", "indptr")}
    return {**{f"{name}.{part}": value for part, value in parts.items()}, f"{name}.shape": np.array(X.shape)}


def unpacked(name: str, arrays: Mapping[str, Array]) -> Array:
    """The matrix that `packed` took apart; a ValueError if it is none of finite numbers."""
    if name in arrays:
        return stored(arrays, name, (None, None), "biuf")
    indices, indptr = (stored(arrays, f"{name}.{of}", (None,), "iu") for of in ("indices", "indptr"))
    shape = stored(arrays, f"{name}.shape", (2,), "iu").tolist()
    return checked_csr((stored(arrays, f"{name}.data", (None,), "biuf"), indices, indptr), tuple(shape))


def _checksum(value: Array) -> str:
    digest = hashlib.sha256(f"{value.dtype.str}{value.shape}".encode())
    digest.update(np.ascontiguousarray(value).tobytes())
    return digest.hexdigest()


def flattened(moments: Moments, prefix: str) -> tuple[dict[str, Any], dict[str, Array]]:
    """Moments as a JSON-able header and arrays whose names begin with the prefix."""
    moments = moments.to_numpy()
    header = {
        "n_samples": moments.n_samples,
        "weight": moments.weight,
        "weight_squared": moments.weight_squared,
        "eps": moments.eps,
        "blocks": sorted(moments.keep.blocks),
        "covariance": list(moments.keep.covariance),
        "cross_covariance": moments.keep.cross_covariance,
    }
    arrays: dict[str, Array] = {
        f"{prefix}.y_center": moments.y_center,
        f"{prefix}.y_sum": moments.y_sum,
        f"{prefix}.y_scatter": moments.y_scatter,
    }
    for name in _PER_VIEW:
        arrays |= {f"{prefix}.{name}.{k}": v for k, v in enumerate(getattr(moments, name)) if v is not None}
    for name in _PER_PAIR:
        arrays |= {f"{prefix}.{name}.{j}.{k}": v for (j, k), v in getattr(moments, name).items()}
    return header, arrays


def rebuilt(header: Mapping[str, Any], arrays: Mapping[str, Array], prefix: str) -> Moments:
    """The moments that `flattened` took apart."""
    n_views = len(header["covariance"])
    per_view = {name: tuple(arrays.get(f"{prefix}.{name}.{k}") for k in range(n_views)) for name in _PER_VIEW}
    per_pair = {
        name: {
            (j, k): arrays[key]
            for j in range(n_views)
            for k in range(j, n_views)
            if (key := f"{prefix}.{name}.{j}.{k}") in arrays
        }
        for name in _PER_PAIR
    }
    return Moments(
        n_samples=header["n_samples"],
        weight=header["weight"],
        weight_squared=header["weight_squared"],
        eps=header["eps"],
        keep=Keep.of(n_views, header["blocks"], header["covariance"], header["cross_covariance"]),
        y_center=arrays[f"{prefix}.y_center"],
        y_sum=arrays[f"{prefix}.y_sum"],
        y_scatter=arrays[f"{prefix}.y_scatter"],
        **per_view,  # type: ignore[arg-type]
        **per_pair,  # type: ignore[arg-type]
    )


_PER_VIEW = ("centers", "sums", "scatters", "y_scatters")
_PER_PAIR = ("cross_scatters", "thirds")


def to_json(value: Any) -> Any:
    """A parameter as JSON; slices and dictionaries (of ``views=``) are tagged."""
    if isinstance(value, slice):
        return {"slice": [to_json(end) for end in (value.start, value.stop, value.step)]}
    if isinstance(value, dict):
        return {"dict": [[key, to_json(v)] for key, v in value.items()]}
    if isinstance(value, Iterable) and not isinstance(value, str):
        return [to_json(v) for v in value]
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, np.random.RandomState):
        return None  # a fitted model draws nothing any more
    raise TypeError(f"A parameter of type {type(value).__name__} cannot be saved.")


def from_json(value: Any) -> Any:
    """The parameter that `to_json` wrote."""
    if isinstance(value, dict):
        if "slice" in value:
            return slice(*value["slice"])
        return {key: from_json(v) for key, v in value["dict"]}
    return [from_json(v) for v in value] if isinstance(value, list) else value
