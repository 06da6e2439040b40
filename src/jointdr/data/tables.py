"""Tables with columns of any kind as features."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.utils.validation import check_is_fitted

from jointdr.data.chemistry import FINGERPRINTS, Fingerprint
from jointdr.data.column_files import columns_from_arrays, columns_to_arrays
from jointdr.data.columns import (
    FEWEST,
    NAMES,
    NUMBERS,
    RARE,
    Column,
    as_frame,
    choose_name,
    clean_column,
    decide_column,
    display_names,
    fit_content,
    is_plain,
    list_some,
    number_columns,
)
from jointdr.data.contents import CONTENTS, stack_columns
from jointdr.data.terms import Ontology
from jointdr.runtime import Array, check_choice, check_names, checked_array

if TYPE_CHECKING:
    from sklearn.compose import ColumnTransformer


FEATURES = (*NUMBERS, "category", *CONTENTS)  # kinds of columns that become features


class TableWarning(UserWarning):
    """Some of a table was filled in or left out."""


class TableEncoder(TransformerMixin, BaseEstimator):
    """Features of a table with columns of any kind.

    Numbers, also as text, stay numbers; booleans and words such as yes and no become 1 and 0, dates a number of days.
    Text and categories with few different values become a 0/1 column for each value but the most frequent one, with
    rare values together. Text that nearly never repeats, or whose column is called name, label, symbol or title, names
    entities: one such column is kept as ``names_``, and none is a feature. Gaps are filled with means, and marked by a
    column of their own where the fitted table had more than a few; in a category they are a value. Constant columns are
    left out.

    Molecules, sequences and terms take their columns named: SMILES become fingerprints, sequences of amino acids the
    frequencies of dipeptides, and terms, with their ancestors in an ontology, TF-IDF weights. With terms the features
    are a sparse array.

    Parameters
    ----------
    use : sequence of str, optional
        The columns that become features, however their text looks; by default all that can.
    drop : sequence of str
        Columns that are left out.
    smiles, sequence, terms : str or sequence of str
        Columns with molecules in SMILES notation, with sequences of proteins, and with terms: text with ``|``, ``;`` or
        ``,`` between them, or lists.
    fingerprint : {"morgan", "feature_morgan", "rdkit", "atom_pair", "torsion", "maccs", "ngrams"}
        The kind of `jointdr.datasets.fingerprints` that molecules become. All but the last take RDKit.
    ontology : Ontology, optional
        That of the terms, see `jointdr.datasets.read_obo`. By default no term follows from another.

    Attributes
    ----------
    columns_ : tuple of Column
        The treatment of every column of the fitted table.
    transformer_ : ColumnTransformer
        The same as scikit-learn's own pieces.
    names_ : (m,) array of str, or None
        The names of the entities of the fitted table.
    id_column_ : str or None
        The column, or the name of the index, that had the ids of the fitted table, where `Dyads` fitted it.

    Examples
    --------
    >>> import pandas as pd
    >>> from jointdr import TableEncoder
    >>> drugs = pd.DataFrame({"weight": [310.0, None, 180.5, 240.0], "class": ["acid", "base", "acid", "acid"]})
    >>> encoder = TableEncoder().fit(drugs)
    >>> list(encoder.get_feature_names_out())
    ['weight', 'class=base']
    >>> encoder.transform(pd.DataFrame({"class": ["base"], "weight": ["200"]}))
    array([[200.,   1.]])
    >>> cells = pd.DataFrame({"go": ["GO:1|GO:2", "GO:2", "GO:3"]})
    >>> TableEncoder(terms="go").fit_transform(cells).toarray().round(2).tolist()
    [[0.94, 0.35, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    """

    def __init__(
        self,
        *,
        use: Sequence[str] | None = None,
        drop: Sequence[str] = (),
        smiles: str | Sequence[str] = (),
        sequence: str | Sequence[str] = (),
        terms: str | Sequence[str] = (),
        fingerprint: Fingerprint = "morgan",
        ontology: Ontology | None = None,
    ) -> None:
        self.use = use
        self.drop = drop
        self.smiles = smiles
        self.sequence = sequence
        self.terms = terms
        self.fingerprint = fingerprint
        self.ontology = ontology

    def fit(self, X: Any, y: Any = None) -> Self:
        """Decide what every column is, and what stands for its gaps."""
        frame = as_frame(X)
        known = {str(name) for name in frame.columns}
        contents = self._columns_with_contents()
        named = {kind: [name for name, own in contents.items() if own == kind] for kind in CONTENTS}
        check_choice("fingerprint", self.fingerprint, FINGERPRINTS)
        for argument, given in {"use": () if self.use is None else self.use, "drop": self.drop, **named}.items():
            if missing := [name for name in check_names(argument, given) if name not in known]:
                raise ValueError(f"{argument} names a column {missing[0]!r}, but there are {list_some(sorted(known))}.")
        numbers: dict[str, Column] = number_columns(frame[[n for n in frame.columns if str(n) not in contents]])
        columns: list[Column] = []
        for name in frame.columns:
            label = str(name)
            is_unused = self.use is not None and label not in self.use
            if label in contents and label not in self.drop:
                columns.append(fit_content(frame[name], label, contents[label], self._options_of(contents[label])))
                continue
            if label in self.drop or (is_unused and not NAMES.search(label)):
                columns.append(Column(label, "left out", note="as asked"))
                continue
            found = numbers.get(label) or decide_column(frame[name], label, self.use is not None and not is_unused)
            if is_unused and found.kind != "name":  # names are shown, and are no features
                found = Column(label, "left out", note="as asked")
            columns.append(found)
        self.n_features_in_ = len(columns)
        self.feature_names_in_ = np.array([column.name for column in columns], dtype=object)
        called = choose_name(columns)
        columns = [
            replace(c, kind="left out", note="text that nearly never repeats")
            if c.kind == "name" and c is not called
            else c
            for c in columns
        ]
        self.columns_ = tuple(_mark_gaps(frame, columns))
        self.names_ = None if called is None else display_names(frame, called.name)
        self.id_column_: str | None = None
        self.__dict__.pop("transformer_", None)
        return self

    def _columns_with_contents(self) -> dict[str, str]:
        """The kind of each column that is named for its contents."""
        found: dict[str, str] = {}
        for kind in CONTENTS:
            given = getattr(self, kind)
            for name in (given,) if isinstance(given, str) else check_names(kind, given):
                if found.setdefault(name, kind) != kind:
                    raise ValueError(
                        f"{kind} and {found[name]} both name the column {name!r}: it can have one of them."
                    )
        return found

    def _options_of(self, kind: str) -> dict[str, Any]:
        options: dict[str, dict[str, Any]] = {
            "smiles": {"fingerprint": self.fingerprint},
            "terms": {"ontology": self.ontology},
        }
        return options.get(kind, {})

    @cached_property
    def transformer_(self) -> ColumnTransformer:
        """The pieces of scikit-learn that make features of cleaned columns, fitted to rows that stand for the table.

        Of two rows, one without gaps and one with those that the table had, the means are the table's, and so are the
        columns that mark gaps.
        """
        import pandas as pd
        from sklearn.compose import ColumnTransformer  # which are slow to import
        from sklearn.impute import SimpleImputer
        from sklearn.preprocessing import OneHotEncoder

        numbers, categories = self._of_kinds(NUMBERS), self._of_kinds(("category",))
        pieces: list[tuple[str, Any, list[str]]] = []
        if numbers:
            pieces.append(("numbers", SimpleImputer(add_indicator=True), [c.name for c in numbers]))
        if categories:
            levels = [list(c.levels) for c in categories]
            encoder = OneHotEncoder(categories=levels, drop=[own[0] for own in levels], sparse_output=False)
            pieces.append(("categories", encoder, [c.name for c in categories]))
        rows = {c.name: [c.fill, np.nan if c.marks_gaps else c.fill] for c in numbers}
        of_levels = {c.name: [c.levels[0], c.levels[-1]] for c in categories}
        return ColumnTransformer(pieces, verbose_feature_names_out=False).fit(pd.DataFrame({**rows, **of_levels}))

    def transform(self, X: Any) -> Array:
        """Features of a table with these columns, in any order; a warning names columns that are missing or not used.

        Columns that are missing are filled in as gaps are.
        """
        return self.transform_named(X, "A table")

    def transform_named(self, X: Any, name: str) -> Array:
        """The same as an array, for a table that has a name in messages."""
        check_is_fitted(self, "columns_")
        frame = as_frame(X)
        encoded, gaps, strange = self._encode(frame)
        given, used = {str(name) for name in frame.columns}, self._of_kinds(FEATURES)
        absent = [column.name for column in used if column.name not in given]
        more = sorted(given.difference(self.feature_names_in_))
        if used and len(absent) == len(used):
            raise ValueError(
                f"{name} has none of the features that were fitted, {list_some(absent)}, but "
                f"{list_some(more) or 'no others'}: give its columns the names of these."
            )
        said = {
            "without the columns": absent,
            "with columns that the fitted table did not have, which are not used:": more,
            "with values that it has no place for, in": strange,
            "with gaps in": gaps,
        }
        if found := "; ".join(f"{what} {list_some(names)}" for what, names in said.items() if names):
            filled = " What is missing is filled in." if absent or strange or gaps else ""
            warnings.warn(f"{name} is given {found}.{filled}", TableWarning, stacklevel=4)
        return encoded

    def fit_transform(self, X: Any, y: Any = None, **params: Any) -> Array:
        """Features of the table that is fitted."""
        return self.fit_to_array(X)

    def fit_to_array(self, X: Any) -> Array:
        """The same as an array, whatever `set_output` and the configuration of scikit-learn ask for."""
        frame = as_frame(X)
        return self.fit(frame)._encode(frame)[0]

    def _encode(self, frame: Any) -> tuple[Array, list[str], list[str]]:
        """Features, columns with gaps, and values of columns that could not be understood."""
        import pandas as pd

        where = {str(name): name for name in frame.columns}
        nothing = pd.Series([None] * len(frame), dtype=object)
        cleaned: dict[str, Any] = {}
        gaps, strange, parts = [], [], []
        for column in self._of_kinds(FEATURES):
            values = frame[where[column.name]] if column.name in where else nothing
            if column.content is not None:
                X, missing, unknown = column.content.encode(values)
                parts.append(X)
                strange += [f"{column.name!r} {unknown[0]!r}"] if unknown else []
            else:
                cleaned[column.name], missing, value = clean_column(values, column)
                strange += [f"{column.name!r} {value!r}"] if value is not None else []
            if column.name in where and missing.any():
                gaps.append(f"{column.name!r} ({np.count_nonzero(missing)})")
        if cleaned:
            parts.insert(0, np.asarray(self.transformer_.transform(pd.DataFrame(cleaned)), dtype=float))
        return stack_columns(parts, len(frame)), gaps, strange

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """The names of the features."""
        check_is_fitted(self, "columns_")
        numbers = self._of_kinds(NUMBERS)
        found = [c.name for c in numbers] + [name for c in numbers for name in c.features[1:]]
        found += [name for c in self._of_kinds(("category", *CONTENTS)) for name in c.features]
        return np.array(found, dtype=object)

    @property
    def blocks_(self) -> tuple[tuple[str, slice], ...]:
        """Which of the features belong together, by name: those of ordinary columns, then those of each other one."""
        check_is_fitted(self, "columns_")
        ordinary, others = self._of_kinds((*NUMBERS, "category")), self._of_kinds(tuple(CONTENTS))
        sizes = [("table", sum(len(c.features) for c in ordinary)), *((c.name, len(c.features)) for c in others)]
        ends = np.cumsum([size for _, size in sizes]).tolist()
        return tuple((name, slice(end - size, end)) for (name, size), end in zip(sizes, ends, strict=True) if size)

    @property
    def keeps_numbers(self) -> bool:
        """Whether its features are the columns of the table, all of which have numbers."""
        return all(column.kind in NUMBERS and not column.marks_gaps for column in self.columns_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = tags.input_tags.categorical = tags.input_tags.allow_nan = True
        tags.input_tags.two_d_array = False  # but a DataFrame
        return tags

    def _of_kinds(self, kinds: Sequence[str]) -> list[Column]:
        return [column for column in self.columns_ if column.kind in kinds]

    def summary(self) -> Any:
        """A DataFrame with one line for each column: its kind, its features, gaps, and why it is left out."""
        import pandas as pd

        check_is_fitted(self, "columns_")
        shown = [f"{len(c.features)}" if c.content is not None else ", ".join(c.features) for c in self.columns_]
        rows = [(c.name, c.kind, what, c.n_missing, c.note) for c, what in zip(self.columns_, shown, strict=True)]
        return pd.DataFrame(rows, columns=["column", "kind", "features", "missing", "note"])

    def warn_of_losses(self, kind: str) -> None:
        """Warn of columns that were left out, and of gaps that were filled in."""
        left = [f"{c.name!r} ({c.note})" for c in self.columns_ if c.kind == "left out" and c.note != "as asked"]
        gaps = [
            f"{c.name!r} ({', '.join(filter(None, (str(c.n_missing), c.note)))})"
            for c in self._of_kinds((*NUMBERS, "category"))
            if c.n_missing
        ]
        without = [
            f"{c.name!r} ({', '.join(filter(None, (str(c.n_missing or ''), c.note)))})"
            for c in self._of_kinds(tuple(CONTENTS))
            if c.n_missing or c.note
        ]
        names = [f"{c.name!r}" for c in self._of_kinds(("name",)) if not NAMES.search(c.name)]
        said = {
            "columns left out": left,
            "gaps filled in": gaps,
            "entities without features of a column": without,
            "taken as names, not as features": names,
        }
        if found := "; ".join(f"{what}: {list_some(which)}" for what, which in said.items() if which):
            warnings.warn(f"The table of {kind!r}: {found}.", TableWarning, stacklevel=4)

    # ---------------------------------------------------------------- files

    @classmethod
    def of_numbers(cls, names: Sequence[str], means: Array) -> Self:
        """The encoder of a table of numbers alone, with these columns and means."""
        encoder = cls()
        encoder.columns_ = tuple(
            Column(str(name), "number", float(mean)) for name, mean in zip(names, means, strict=True)
        )
        encoder.n_features_in_, encoder.names_, encoder.id_column_ = len(encoder.columns_), None, None
        encoder.feature_names_in_ = np.array([column.name for column in encoder.columns_], dtype=object)
        return encoder

    def to_arrays(self, prefix: str) -> dict[str, Array]:
        """The treatment of all columns as plain arrays."""
        own = {} if self.id_column_ is None else {f"{prefix}.id_column": np.array([self.id_column_])}
        return own | columns_to_arrays(self.columns_, prefix)

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Array], prefix: str) -> Self:
        """The inverse of `to_arrays`."""
        encoder = cls()
        encoder.columns_ = columns_from_arrays(arrays, prefix)
        encoder.n_features_in_, encoder.names_ = len(encoder.columns_), None
        own = checked_array(arrays, f"{prefix}.id_column", (1,), "U") if f"{prefix}.id_column" in arrays else None
        encoder.id_column_ = None if own is None else str(own[0])
        encoder.feature_names_in_ = np.array([column.name for column in encoder.columns_], dtype=object)
        return encoder


def _mark_gaps(frame: Any, columns: Sequence[Column]) -> list[Column]:
    """The columns, of which those of numbers with more than a few gaps mark them; equal ones are marked once."""
    seen: set[bytes] = set()
    found = []
    for column, name in zip(columns, frame.columns, strict=True):
        if column.kind in NUMBERS and column.n_missing >= max(FEWEST, RARE * len(frame)):
            pattern = np.isnan(clean_column(frame[name], column)[0]).tobytes()
            column = replace(column, marks_gaps=pattern not in seen)
            seen.add(pattern)
        found.append(column)
    return found


def encode_table(X: Any, name: str, encoder: TableEncoder | None = None) -> tuple[TableEncoder | None, Array | None]:
    """The encoder of a DataFrame, and its features; None for one of finite numbers, whose features are as they are.

    Parameters
    ----------
    X : DataFrame of pandas or polars
    name : str
        The name of the entities, for messages.
    encoder : TableEncoder, optional
        That of the table that a model was fitted to, which takes columns in any order; or one that is not fitted yet,
        of which a copy is.
    """
    plain = is_plain(X)
    if hasattr(encoder, "columns_"):
        assert encoder is not None
        same = plain and [str(c) for c in X.columns] == encoder.feature_names_in_.tolist() and encoder.keeps_numbers
        return encoder, None if same else encoder.transform_named(X, f"The new table of {name!r}")
    if encoder is None and plain:
        return (TableEncoder().fit(X) if all(isinstance(c, str) for c in X.columns) else None), None
    encoder = TableEncoder() if encoder is None else clone(encoder)
    encoded = encoder.fit_to_array(X)
    encoder.warn_of_losses(name)
    return encoder, encoded
