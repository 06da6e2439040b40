"""Views of columns by name and of MuData: the other ways to make them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

from jointdr.data.columns_of_arrays import response_of_column, tables_of_columns
from jointdr.runtime import Array


class ViewsOfFormats:
    """Constructors of `Views` beside its own; all of them give (views, y)."""

    feature_names: tuple[Array | None, ...]
    index: Any

    @classmethod
    def from_columns(
        cls, data: Any, views: Sequence[str] | Mapping[str, str | Sequence[str]], y: str | None = None
    ) -> tuple[Self, Array | None]:
        """Views and a response of data that gives its columns by name.

        Parameters
        ----------
        data : mapping, Dataset of Hugging Face, or DataFrame
            ``data[name]`` is an array, or a list, with one entry for each row: a number or a vector.
        views : sequence of str, or mapping
            The columns that are views, or the columns of each view by its name.
        y : str, optional
            The column of responses.

        Returns
        -------
        views : Views
        y : array, or None

        Examples
        --------
        >>> import numpy as np
        >>> from jointdr import Views
        >>> data = {"image": np.ones((4, 3)), "text": [[1, 2], [3, 4], [5, 6], [7, 8]], "score": [0.1, 0.2, 0.3, 0.4]}
        >>> X, y = Views.from_columns(data, ("image", "text"), "score")
        >>> X
        Views(image: 4 × 3, text: 4 × 2)
        """
        made = cls(**tables_of_columns(data, views))
        return made, None if y is None else response_of_column(data, y)

    @classmethod
    def from_mudata(
        cls,
        mdata: Any,
        modalities: Sequence[str] | None = None,
        y: str | None = None,
        *,
        layers: Mapping[str, str] | None = None,
        obsm: Mapping[str, str] | None = None,
    ) -> tuple[Self, Any]:
        """Views and a response of a MuData, whose modalities are measured on the same observations.

        Parameters
        ----------
        mdata : MuData
        modalities : sequence of str, optional
            The modalities that are views, in this order; by default all.
        y : str, optional
            The column of ``mdata.obs``, or of the ``obs`` of one modality, that has the responses.
        layers : mapping of modalities to layers, optional
            A layer in place of X, such as ``{"rna": "counts"}``.
        obsm : mapping of modalities to keys of ``obsm``, optional
            An embedding in place of X, such as ``{"rna": "X_pca"}``.

        Returns
        -------
        views : Views
            Its ``index`` has the names of the observations.
        y : Series, or None

        Notes
        -----
        Modalities are aligned by the names of observations. Those that a modality lacks, or that have no response, are
        left out, with a warning. Sparse matrices stay sparse. The package mudata is not needed.
        """
        from jointdr.data.annotated import tables_of_mudata  # which knows Views

        tables, features, index, response = tables_of_mudata(mdata, modalities, y, layers or {}, obsm or {})
        made = cls(**tables)
        made.feature_names, made.index = tuple(features.values()), index
        return made, response
