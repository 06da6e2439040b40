"""The paper's synthetic models: features a and b, and a response that depends on Uᵀa and Vᵀb alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy.special import expit

from jointdr.data import Views
from jointdr.runtime import Array, check_choice, check_integer, check_number, is_integer

Link = Literal["bilinear", "rbf", "logistic", "even"]
Features = Literal["gaussian", "uniform", "poisson", "binary"]

CHUNK = 1024  # rows are drawn so many at a time, each chunk from its own stream: data does not depend on block sizes


class Sample(NamedTuple):
    """Data and the truth behind it: the views, the response, and the embeddings (U, V)."""

    X: Views
    y: Array
    truth: tuple[Array, Array]


@dataclass(frozen=True)
class SyntheticModel:
    """A separable embedding model (a, b) → (Uᵀa, Vᵀb) → y, section 2 of the paper.

    Parameters
    ----------
    link : {"bilinear", "rbf", "logistic", "even"}
        The mean of y: aᵀUVᵀb; exp(−‖Uᵀa − Vᵀb‖²/σ²); 1/(1 + exp(−aᵀUVᵀb − t)); Σ_j (Uᵀa)_j² (Vᵀb)_j².
        With the RBF and logistic links y is drawn as 0 or 1 with that mean.
    n_features : int or pair of ints
        n₁ and n₂.
    n_components : int
        r. U and V have orthonormal columns.
    n_informative : int, pair of ints or None
        s₁ and s₂: how many rows of U and V are not zero (at random indices); None for all.
    features : {"gaussian", "uniform", "poisson", "binary"}
        N(0, 1); uniform on [−√3, √3]; Poisson(4), shifted and scaled to mean 0 and variance 1; 0/1 with mean
        `probability`.
    correlation : float
        Elementwise correlation between a and b.
    noise : float
        Standard deviation of the Gaussian noise, for the bilinear and even links.
    sigma, offset, probability : float
        σ of the RBF link, t of the logistic link, mean of the 0/1 features.
    """

    link: Link = "bilinear"
    n_features: int | tuple[int, int] = 100
    n_components: int = 5
    n_informative: int | tuple[int, int] | None = None
    features: Features = "gaussian"
    correlation: float = 0.0
    noise: float = 1.0
    sigma: float = 1.0
    offset: float = 0.0
    probability: float = 0.1

    def __post_init__(self) -> None:
        check_choice("link", self.link, sorted(_LINKS))
        check_choice("features", self.features, ("gaussian", "uniform", "poisson", "binary"))
        check_integer("n_components", self.n_components, 1)
        for name in ("correlation", "noise", "sigma", "offset", "probability"):
            check_number(name, getattr(self, name))
        for n, s in zip(self.shape, self.informative, strict=True):
            if not 1 <= (r := self.n_components) <= s <= n:
                raise ValueError(f"need 1 <= n_components <= n_informative <= n_features, got {r}, {s}, {n}.")
        if not self.sigma > 0 or not 0 < self.probability < 1 or not self.noise >= 0:
            raise ValueError("need sigma > 0, 0 < probability < 1 and noise >= 0.")
        if not -1 < self.correlation < 1:
            raise ValueError(f"correlation must lie between -1 and 1, got {self.correlation}.")
        if self.correlation and (self.shape[0] != self.shape[1] or self.features != "gaussian"):
            raise ValueError("correlation needs Gaussian features and n_1 = n_2.")

    @property
    def shape(self) -> tuple[int, int]:
        """(n₁, n₂)."""
        return _pair("n_features", self.n_features)

    @property
    def informative(self) -> tuple[int, int]:
        """(s₁, s₂)."""
        return self.shape if self.n_informative is None else _pair("n_informative", self.n_informative)

    def truth(self, random_state: int = 0) -> tuple[Array, Array]:
        """The embeddings (U, V) that belong to a seed."""
        check_integer("random_state", random_state, 0, expected="a whole number >= 0: it names the data")
        rng = np.random.default_rng([random_state, 0])
        U, V = (np.zeros((n, self.n_components)) for n in self.shape)
        for P, s in zip((U, V), self.informative, strict=True):
            rows = np.sort(rng.choice(len(P), s, replace=False))
            P[rows] = np.linalg.qr(rng.standard_normal((s, self.n_components)))[0]
        return U, V

    def sample(self, n_samples: int, random_state: int = 0, dtype: Any = np.float64) -> Sample:
        """All rows at once."""
        check_integer("n_samples", n_samples, 0)
        A, B = (np.empty((n_samples, n), dtype=dtype) for n in self.shape)
        y = np.empty(n_samples)
        for c, ((a, b), part) in enumerate(self.blocks(n_samples, CHUNK, random_state, dtype)):
            at = slice(c * CHUNK, (c + 1) * CHUNK)
            A[at], B[at], y[at] = a, b, part
        return Sample(Views(A, B), y, self.truth(random_state))

    def blocks(
        self, n_samples: int, block_rows: int, random_state: int = 0, dtype: Any = np.float64
    ) -> Iterator[tuple[tuple[Array, Array], Array]]:
        """The same rows in blocks of any size, as ((a, b), y), without ever holding all of them."""
        return ((X, y) for X, (y,) in self.shared_blocks([self], n_samples, block_rows, random_state, dtype))

    @staticmethod
    def shared_blocks(
        models: Sequence[SyntheticModel],
        n_samples: int,
        block_rows: int,
        random_state: int = 0,
        dtype: Any = np.float64,
    ) -> Iterator[tuple[tuple[Array, Array], tuple[Array, ...]]]:
        """Blocks of rows of several models at once, ((a, b), (y₁, y₂, ...)), with the features drawn only once.

        Parameters
        ----------
        models : sequence of SyntheticModel
            With the same kind and number of features. For one seed these are then the same numbers in all of them, and
            every model has the rows that its own `SyntheticModel.blocks` gives.
        n_samples, block_rows, random_state, dtype
            As in `SyntheticModel.blocks`.
        """
        check_integer("n_samples", n_samples, 0)
        check_integer("block_rows", block_rows, 1)
        if len({model.draws for model in models}) != 1:
            raise ValueError("models that share draws must agree in n_features, features, correlation and probability.")
        truths = [[np.asarray(U, dtype=dtype) for U in model.truth(random_state)] for model in models]
        waiting: list[tuple[Array, ...]] = []
        held = 0
        for c in range(-(-n_samples // CHUNK)):
            size = min(CHUNK, n_samples - c * CHUNK)
            chunk = _chunk(models, truths, np.random.default_rng([random_state, 1 + c]), dtype)
            waiting.append(tuple(part[:size] for part in chunk))
            held += size
            last = (c + 1) * CHUNK >= n_samples
            if held < block_rows and not last:
                continue
            A, B, *ys = (np.concatenate(parts) for parts in zip(*waiting, strict=True))
            end = held if last else held - held % block_rows
            for start in range(0, end, block_rows):
                at = slice(start, min(start + block_rows, end))
                yield (A[at], B[at]), tuple(y[at] for y in ys)
            waiting, held = [tuple(part[end:] for part in (A, B, *ys))], held - end

    @property
    def draws(self) -> tuple[Any, ...]:
        """Everything that the features depend on, beside the seed."""
        return self.shape, self.features, self.correlation, self.probability

    def _response(self, rng: np.random.Generator, P: Array, Q: Array) -> Array:
        """y of the embedded rows P = AU and Q = BV."""
        mean = _LINKS[self.link](self, P, Q)
        if self.link in ("rbf", "logistic"):
            return (rng.random(CHUNK) < mean).astype(float)
        return mean + self.noise * rng.standard_normal(CHUNK)

    def _features(self, rng: np.random.Generator, n: int, dtype: Any) -> Array:
        size = (CHUNK, n)
        if self.features == "gaussian":
            return rng.standard_normal(size, dtype=dtype)
        if self.features == "uniform":
            return rng.uniform(-np.sqrt(3), np.sqrt(3), size).astype(dtype)
        if self.features == "poisson":
            return ((rng.poisson(4.0, size) - 4.0) / 2.0).astype(dtype)
        return (rng.random(size) < self.probability).astype(dtype)


_LINKS: dict[str, Callable[[SyntheticModel, Array, Array], Array]] = {
    "bilinear": lambda model, p, q: np.sum(p * q, axis=1),
    "rbf": lambda model, p, q: np.exp(-np.sum((p - q) ** 2, axis=1) / model.sigma**2),
    "logistic": lambda model, p, q: expit(np.sum(p * q, axis=1) + model.offset),
    "even": lambda model, p, q: np.sum(p**2 * q**2, axis=1),
}


def _chunk(
    models: Sequence[SyntheticModel], truths: Sequence[Sequence[Array]], rng: np.random.Generator, dtype: Any
) -> tuple[Array, ...]:
    """A, B and the response of each model, every one from the same state of the stream."""
    correlation = models[0].correlation
    A, B = (models[0]._features(rng, n, dtype) for n in models[0].shape)
    if correlation:
        B = np.asarray(correlation * A + np.sqrt(1 - correlation**2) * B, dtype=dtype)
    state = rng.bit_generator.state
    ys = []
    for model, (U, V) in zip(models, truths, strict=True):
        rng.bit_generator.state = state
        ys.append(model._response(rng, _project(A, U), _project(B, V)))
    return A, B, *ys


def _project(X: Array, U: Array) -> Array:
    """XU, from the informative features alone where these are few: O(m s r)."""
    rows = np.flatnonzero(U.any(axis=1))
    return X @ U if 4 * len(rows) > len(U) else np.take(X, rows, axis=1) @ U[rows]


def make_bilinear(
    n_samples: int = 1000, n_features: Any = 100, n_components: int = 5, *, random_state: int = 0, **options: Any
) -> Sample:
    """The paper's bilinear model, y = aᵀUVᵀb + N(0, 1); options as in `SyntheticModel`.

    Examples
    --------
    >>> from jointdr.datasets import make_bilinear
    >>> X, y, (U, V) = make_bilinear(1000, n_features=(20, 30), n_components=2, random_state=0)
    >>> X
    Views(a: 1000 × 20, b: 1000 × 30)
    """
    return SyntheticModel("bilinear", n_features, n_components, **options).sample(n_samples, random_state)


def make_rbf(
    n_samples: int = 1000, n_features: Any = 10, n_components: int = 2, *, random_state: int = 0, **options: Any
) -> Sample:
    """The paper's RBF model, y ~ Ber(exp(−‖Uᵀa − Vᵀb‖²/σ²)); options as in `SyntheticModel`."""
    return SyntheticModel("rbf", n_features, n_components, **options).sample(n_samples, random_state)


def make_logistic(
    n_samples: int = 1000, n_features: Any = 50, n_components: int = 3, *, random_state: int = 0, **options: Any
) -> Sample:
    """The bilinear logistic model, y ~ Ber(1/(1 + exp(−aᵀUVᵀb − t))); options as in `SyntheticModel`."""
    return SyntheticModel("logistic", n_features, n_components, **options).sample(n_samples, random_state)


def make_odd(
    n_samples: int = 1000, n_features: Any = 10, n_components: int = 3, *, random_state: int = 0, **options: Any
) -> Sample:
    """The odd link of the supplement, y = Σ_j (Uᵀa)_j (Vᵀb)_j without noise: JDR succeeds, pHd fails."""
    return make_bilinear(n_samples, n_features, n_components, random_state=random_state, **{"noise": 0.0, **options})


def make_even(
    n_samples: int = 1000, n_features: Any = 10, n_components: int = 3, *, random_state: int = 0, **options: Any
) -> Sample:
    """The even link of the supplement, y = Σ_j (Uᵀa)_j² (Vᵀb)_j² without noise: JDR fails, pHd succeeds."""
    return SyntheticModel("even", n_features, n_components, **{"noise": 0.0, **options}).sample(n_samples, random_state)


def _pair(name: str, n: int | tuple[int, int]) -> tuple[int, int]:
    pair = tuple(n) if isinstance(n, (tuple, list)) else (n, n)
    if len(pair) != 2 or not all(map(is_integer, pair)):
        raise ValueError(f"{name}={n!r} must be a whole number, or a pair of them.")
    return int(pair[0]), int(pair[1])
