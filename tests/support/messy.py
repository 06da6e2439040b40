"""Tables of drugs, targets and affinities as people have them, with the truth that they come from."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

CLASSES = ("kinase inhibitor", "antibiotic", "statin", "opioid")
FAMILIES = ("kinase", "GPCR", "ion channel")
N_NEW = 10  # drugs that come later


@dataclass(frozen=True)
class Messy:
    """Messy tables, and the same prepared by hand.

    Attributes
    ----------
    drugs, targets, pairs : DataFrames
        Ids and text as str, numbers with gaps; as files have them.
    new : DataFrame
        Drugs that have no pair, with their columns in another order.
    truth : (drugs with the new ones, targets) array
        Scores without noise.
    known : (drugs, targets) CSR array
        The mean of the scores that are listed.
    A, B : arrays
        Features made by hand: standardized numbers, gaps filled with means, a column for each class.
    """

    drugs: Any
    targets: Any
    pairs: Any
    new: Any
    truth: Any
    known: Any
    A: Any
    B: Any

    @property
    def unknown(self) -> Any:
        """A mask of the pairs of fitted drugs that are not listed."""
        return self.known.toarray() == 0

    def write(self, folder: Path) -> None:
        """drugs.csv, targets.csv, pairs.csv and new.csv, each in another dialect."""
        self.drugs.to_csv(folder / "drugs.csv", index=False)
        self.targets.to_csv(
            folder / "targets.csv", index=False, sep=";", decimal=",", encoding="utf-8-sig", lineterminator="\r\n"
        )
        self.pairs.to_csv(folder / "pairs.csv", index=False)
        self.new.to_csv(folder / "new.csv", index=False, sep="\t")


def make_messy(n_drugs: int = 120, n_targets: int = 60, share: float = 0.15, seed: int = 0) -> Messy:
    """About `share` of all pairs have a score."""
    rng = np.random.default_rng(seed)
    m = n_drugs + N_NEW
    drugs, classes = _drugs(rng, m)
    targets, families = _targets(rng, n_targets)
    A, B = _by_hand(drugs, "class"), _by_hand(targets, "family")
    truth = _truth(rng, drugs, targets, classes, families)
    drugs.loc[rng.random(m) < 0.1, "weight"] = np.nan
    drugs.loc[rng.random(m) < 0.05, "class"] = None
    A = _by_hand(drugs, "class")

    i, j = np.nonzero(rng.random((n_drugs, n_targets)) < share)
    again = rng.choice(len(i), 25, replace=False)
    i, j = np.append(i, i[again]), np.append(j, j[again])
    scores = (truth[i, j] + 0.2 * rng.standard_normal(len(i))).round(2)
    ids, of_targets = drugs["drug_id"].to_numpy(), targets["target"].to_numpy()
    pairs = pd.DataFrame({"drug": ids[i], "target": of_targets[j], "pkd": scores, "assay": "Kd"})
    unknown = pd.DataFrame({"drug": ["9999"] * 4, "target": of_targets[:4], "pkd": 6.0, "assay": "Kd"})
    total, count = (
        sparse.coo_array((values, (i, j)), shape=(n_drugs, n_targets)).toarray() for values in (scores, np.ones(len(i)))
    )
    known = sparse.csr_array(np.where(count > 0, total / np.maximum(count, 1), 0.0))
    new = drugs[n_drugs:][["class", "approved", "oral", "drug_id", "logp", "weight", "name"]]
    return Messy(drugs[:n_drugs], targets, pd.concat([pairs, unknown]), new, truth, known, A, B)


def _drugs(rng: Any, m: int) -> tuple[Any, Any]:
    classes = rng.integers(0, len(CLASSES), m)
    named = np.array(CLASSES, dtype=object)[classes]
    named[[3, 40]] = "dye"  # a level that is rare
    days = pd.to_timedelta(rng.integers(0, 9000, m), unit="D")
    return pd.DataFrame(
        {
            "name": [f"Drug {k}, {'sodium salt' if k % 3 else 'free base'}" for k in range(m)],
            "drug_id": [f"{k:04d}" for k in range(7, 7 + m)],
            "weight": (350 + 80 * rng.standard_normal(m)).round(1),
            "logp": rng.normal(2, 1.5, m).round(2),
            "class": named,
            "oral": np.where(rng.random(m) < 0.5, "yes", "no"),
            "approved": (pd.Timestamp("1990-01-01") + days).strftime("%Y-%m-%d"),
            "source": "ChEMBL",
            "notes": [f"see record {k} of the registry" for k in rng.permutation(m)],
        }
    ), classes


def _targets(rng: Any, m: int) -> tuple[Any, Any]:
    families = rng.integers(0, len(FAMILIES), m)
    return pd.DataFrame(
        {
            "target": [f"T{k:03d}" for k in range(m)],
            "family": np.array(FAMILIES, dtype=object)[families],
            "length": (500 + 150 * rng.standard_normal(m)).round(0),
            "charge": rng.standard_normal(m).round(2),
            "membrane": np.where(rng.random(m) < 0.5, "TRUE", "FALSE"),
            "organism": "human",
        }
    ), families


def _truth(rng: Any, drugs: Any, targets: Any, classes: Any, families: Any) -> Any:
    def scaled(values: Any) -> Any:
        return ((values - values.mean()) / values.std()).to_numpy()

    oral, membrane = (scaled((values.isin(["yes", "TRUE"])).astype(float)) for values in (drugs.oral, targets.membrane))
    date = scaled(pd.to_datetime(drugs.approved).astype("int64").astype(float))
    charge = scaled(targets.charge)
    truth = 6.5 + 0.6 * np.outer(scaled(drugs.logp), charge) + 0.5 * np.outer(oral, membrane)
    truth += 0.3 * np.outer(scaled(drugs.weight), scaled(targets.length)) + 0.3 * np.outer(date, membrane)
    truth += 0.5 * rng.standard_normal((len(CLASSES), len(FAMILIES)))[classes][:, families]
    return np.clip(truth + 0.3 * rng.standard_normal(len(drugs))[:, None], 4, 10)


def _by_hand(table: Any, category: str) -> Any:
    """Standardized numbers, gaps as their means, and a 0/1 column for each class: what one would write by hand."""
    numbers = table[[name for name in ("weight", "logp", "length", "charge") if name in table]].astype(float)
    flags = [table[name].isin(["yes", "TRUE"]).astype(float) for name in ("oral", "membrane") if name in table]
    dates = [pd.to_datetime(table[name]).astype("int64").astype(float) for name in ("approved",) if name in table]
    X = pd.concat([numbers, *flags, *dates], axis=1)
    X = (X - X.mean()) / X.std()
    return pd.concat([X, pd.get_dummies(table[category], dtype=float)], axis=1).fillna(0.0).to_numpy()
