"""AnnData and MuData as tables and scores, by their attributes: neither package is needed."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy import sparse

from jointdr.data.columns import list_some
from jointdr.data.ids import as_ids, index_of
from jointdr.data.tables import TableWarning
from jointdr.runtime import Array, is_sparse

AXES = ("obs", "var")


def matrix_of_anndata(adata: Any, layer: str | None, what: str = "adata") -> Any:
    """X, or a layer, in memory."""
    for name in ("X", "layers", *AXES, "obsm", "varm", "obs_names", "var_names"):
        if not hasattr(adata, name):
            raise TypeError(f"{what} should be an AnnData, but got {type(adata).__name__}, which has no {name!r}.")
    if getattr(adata, "isbacked", False):
        raise TypeError(f"{what} is backed by a file: read it into memory first, {what} = {what}.to_memory().")
    if layer is not None and layer not in adata.layers:
        raise ValueError(f"layer={layer!r} is not in {what}, whose layers are {list_some(list(adata.layers))}.")
    X = adata.X if layer is None else adata.layers[layer]
    if X is None:
        raise ValueError(f"{what} has no X: name one of its layers with layer=, {list_some(list(adata.layers))}.")
    return sparse.csr_array(X) if is_sparse(X) else np.asarray(X)


def features_of_anndata(adata: Any, axis: int, features: str | Sequence[str] | None, argument: str) -> Any:
    """The features of observations (axis 0) or variables: a table, an array, or None where there are none.

    Parameters
    ----------
    adata : AnnData
    axis : {0, 1}
    features : str, sequence of str or None
        A key of ``obsm`` (``varm``), or columns of ``obs`` (``var``), by default all.
    argument : str
        The name of the parameter, for messages.
    """
    import pandas as pd

    name = AXES[axis]
    table, arrays = getattr(adata, name), getattr(adata, f"{name}m")
    if isinstance(features, str):
        if features in arrays:
            found = arrays[features]
            return pd.DataFrame(found) if hasattr(found, "iloc") else _plain(found)
        features = [features]
    columns = list(table.columns if features is None else features)
    if missing := [column for column in columns if column not in table.columns]:
        raise ValueError(
            f"{argument} names {missing[0]!r}, which is neither a key of {name}m ({list_some(list(arrays)) or 'none'}) "
            f"nor a column of {name} ({list_some([str(c) for c in table.columns]) or 'none'})."
        )
    return pd.DataFrame(table[columns]) if columns else None


def names_of_anndata(adata: Any, axis: int) -> Array:
    """The names of observations or variables, which are all different."""
    try:
        return as_ids(getattr(adata, f"{AXES[axis]}_names"), f"{AXES[axis]}_names")
    except ValueError as error:
        raise ValueError(f"{error} adata.{AXES[axis]}_names_make_unique() makes them different.") from None


def _plain(X: Any) -> Array:
    return sparse.csr_array(X) if is_sparse(X) else np.asarray(X)


def tables_of_mudata(
    mdata: Any,
    modalities: Sequence[str] | None,
    y: str | None,
    layers: Mapping[str, str],
    obsm: Mapping[str, str],
) -> tuple[dict[str, Any], dict[str, Array | None], Any, Any]:
    """The modalities as tables of the same observations; parameters as in `Views.from_mudata`.

    Returns
    -------
    tables, feature names by modality, index of the observations, responses
    """
    chosen = _modalities(mdata, modalities)
    for argument, given in (("layers", layers), ("obsm", obsm)):
        if unknown := [name for name in given if name not in chosen]:
            raise ValueError(f"{argument} names {unknown[0]!r}, but the modalities are {list_some(list(chosen))}.")
    response = None if y is None else _response(mdata, y)
    of_each = {name: index_of(names_of_anndata(adata, 0)) for name, adata in chosen.items()}
    every = list(map(str, mdata.obs_names))
    kept = np.array([all(name in own for own in of_each.values()) for name in every], dtype=bool)
    if response is not None:
        kept &= np.asarray(response.notna())
    if not kept.any():
        raise ValueError(f"No observation is in all of {list_some(list(chosen))}{'' if y is None else f' with {y!r}'}.")
    if not kept.all():
        lacking = {
            name: sum(other not in own for other in every) for name, own in of_each.items() if len(own) < len(every)
        }
        reasons = [f"{count} are not in {name!r}" for name, count in lacking.items() if count]
        reasons += [] if response is None or response.notna().all() else [f"{response.isna().sum()} have no {y!r}"]
        warnings.warn(
            f"{np.count_nonzero(~kept)} of {len(every)} observations are left out: {', '.join(reasons)}.",
            TableWarning,
            stacklevel=3,
        )
    tables: dict[str, Any] = {}
    features: dict[str, Array | None] = {}
    for name, adata in chosen.items():
        at = np.array([of_each[name][other] for other, is_kept in zip(every, kept, strict=True) if is_kept])
        if name in obsm and name in layers:
            raise ValueError(f"{name!r} is in layers and in obsm: name one of them.")
        X = features_of_anndata(adata, 0, obsm[name], "obsm") if name in obsm else None
        X = matrix_of_anndata(adata, layers.get(name), f"modality {name!r}") if X is None else X
        names = adata.var_names if name not in obsm else getattr(X, "columns", None)
        tables[name] = X.iloc[at].to_numpy() if hasattr(X, "iloc") else X[at]
        features[name] = None if names is None else np.array([str(v) for v in names], dtype=object)
    index = mdata.obs_names[kept]
    return tables, features, index, None if response is None else response[kept]


def _modalities(mdata: Any, modalities: Sequence[str] | None) -> dict[str, Any]:
    if not hasattr(mdata, "mod") or not hasattr(mdata, "obs"):
        raise TypeError(f"mdata should be a MuData, but got {type(mdata).__name__}.")
    if getattr(mdata, "axis", 0) != 0:
        raise ValueError("The modalities share variables (axis=1), but views are of the same observations (axis=0).")
    found = list(mdata.mod)
    names = found if modalities is None else list(modalities)
    if isinstance(modalities, str) or (missing := [name for name in names if name not in found]):
        wrong = modalities if isinstance(modalities, str) else missing[0]
        raise ValueError(f"modalities={wrong!r} should be a list of modalities, which are {list_some(found)}.")
    return {name: mdata.mod[name] for name in names}


def _response(mdata: Any, y: str) -> Any:
    """A column of the observations, or of those of one modality."""
    if y in mdata.obs.columns:
        return mdata.obs[y]
    of, _, column = y.rpartition(":")
    found = [name for name, adata in mdata.mod.items() if of in ("", name) and column in adata.obs.columns]
    if len(found) == 1:
        return mdata.mod[found[0]].obs[column].reindex(mdata.obs_names)
    if found:
        raise ValueError(f"y={y!r} is a column of several modalities: give {' or '.join(f'{n}:{y}' for n in found)}.")
    columns = [str(c) for c in mdata.obs.columns]
    columns += [f"{name}:{c}" for name, adata in mdata.mod.items() for c in adata.obs.columns if c not in columns]
    raise ValueError(f"y={y!r} is no column of the observations, which have {list_some(columns) or 'none'}.")
