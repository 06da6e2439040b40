"""The evidence of the checks of `jointdr.diagnostics.diagnose`: moments in units of their noise."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from jointdr.data import Views, raise_if_not_finite
from jointdr.diagnostics.bounds import noise_edge
from jointdr.diagnostics.skewness import skewness
from jointdr.directions import (
    CROSS,
    EXACT_UP_TO,
    NormalizedMoments,
    Options,
    Whitener,
    center_moments,
    left_vectors,
    normalize_moments,
    unfolding,
    whiteners,
)
from jointdr.engines import Rows
from jointdr.estimators import JDR
from jointdr.moments import Moments
from jointdr.runtime import Array

CLEAR_OF_NOISE = 1.1  # noise fluctuates about its edge; beyond this many times the edge it is rarely seen (n = 5: 5 %)
STRONG = 2.0  # cross directions this many times above the edge are known to within 30 degrees
# Skewness from which on within-view moments are not to be trusted blindly: Poisson(4) has 0.5, Bernoulli(0.1) 2.7.
SKEWED = 1.0


@dataclass(frozen=True, eq=False)
class Evidence:
    """Everything that the checks use; costly parts are computed when they are first asked for."""

    model: JDR
    options: Options
    views: Views | None
    Y: Array | None
    weight: Array | None

    @cached_property
    def moments(self) -> Moments | None:
        """All moments, reduced from the data; or those that the model has kept; or None.

        Of the selected features alone, where the model selects.
        """
        if self.views is None or self.Y is None or max(self.views.n_features) > EXACT_UP_TO:
            moments: Moments | None = getattr(self.model, "moments_", None)
        else:
            rows = Rows(self.views.arrays, self.Y, self.weight)
            moments = rows.moments(blocks=("cross", "within"), covariance="full", cross_covariance=True)
            if not all(np.isfinite(M).all() for M in (*moments.sums, *moments.thirds.values())):
                raise_if_not_finite(self.views)
        return moments if moments is None or self.selected is None else moments.select(self.model.support_)

    @property
    def n_features(self) -> tuple[int, int]:
        """(n₁, n₂)."""
        n1, n2 = self.model.n_features_per_view_
        return n1, n2

    @cached_property
    def selected(self) -> tuple[int, int] | None:
        """(s₁, s₂), if features were selected."""
        if self.model.n_features_to_select is None:
            return None
        s1, s2 = (max(1, int(mask.sum())) for mask in self.model.support_)
        return s1, s2

    @property
    def selection(self) -> float:
        """The factor by which selected features show more noise than others, because they were selected."""
        if self.selected is None:
            return 1.0
        return noise_edge(self.n_features, 1.0, n_selected=self.selected) / noise_edge(self.selected, 1.0)

    @cached_property
    def size(self) -> float | None:
        """The effective number of rows (Σw)²/Σw², if it is known."""
        if self.moments is not None:
            return float(self.moments.weight**2 / self.moments.weight_squared)
        rows = self.views if self.views is not None else self.Y
        if rows is None:
            return None
        return float(len(rows)) if self.weight is None else float(self.weight.sum() ** 2 / np.sum(self.weight**2))

    @cached_property
    def skewness(self) -> Array | None:
        """The skewness of all features of both views, if there is data."""
        if self.views is None:
            return None
        found = np.concatenate(skewness(self.views.arrays, self.weight))
        if not np.isfinite(found).all():
            raise_if_not_finite(self.views)
        return found

    @property
    def n_skewed(self) -> int:
        """The number of skewed features, beyond four standard errors √(6/m)."""
        if self.skewness is None:
            return 0
        return int(np.sum(np.abs(self.skewness) > SKEWED + 4.0 * np.sqrt(6.0 / (self.size or 1.0))))

    @cached_property
    def maps(self) -> tuple[Whitener, ...]:
        """The normalization of the fit."""
        assert self.moments is not None
        return whiteners(self.moments, self.options)

    def blocks(self, uses: frozenset[str]) -> tuple[Moments, NormalizedMoments]:
        """The moments centred as these uses need, and their normalized form."""
        assert self.moments is not None
        options = replace(self.options, uses=uses)
        moments = center_moments(self.moments, options)
        return moments, normalize_moments(moments, self.maps, options)

    def spectra(self, moments: Moments, blocks: NormalizedMoments) -> list[Array] | None:
        """The eigenvalues of the covariance of each view's normalized features, or None if it was not kept."""
        if any(M is None for M in moments.scatters):
            return None
        if blocks.probes is not None:
            C_ab = moments.cross_covariance(0, 1)
            Sigma = np.block([[moments.covariance(0), C_ab], [C_ab.T, moments.covariance(1)]])
            return [np.linalg.eigvalsh(P.T @ Sigma @ P) for P in blocks.probes]
        result = []
        for k, m in enumerate(self.maps):
            C = moments.covariance(k)
            if C.ndim == 1:
                result.append(m.pull(m.pull(C[:, None]))[:, 0])
            else:
                result.append(np.linalg.eigvalsh(m.pull(m.pull(C).T)))
        return result

    @cached_property
    def ratios(self) -> Array | None:
        """The singular values of the cross moments in units of the noise edge; None where that is not known.

        Without moments they are those of the fit (which refinement changes), and features are taken as uncorrelated.
        """
        if self.moments is None or (0, 1) not in self.moments.thirds:
            values = self.model.singular_values_
            refined = self.model.n_sweeps_ > 0
            if self.Y is None or self.options.normalize is None or isinstance(values, tuple) or refined:
                return None
            variance = np.average((self.Y - np.average(self.Y, 0, self.weight)) ** 2, 0, self.weight).sum()
            edge = noise_edge(self.n_features, self.size or 1.0, float(np.sqrt(variance)), n_selected=self.selected)
            return values[: min(self.options.ranks)] / (edge or 1.0)
        moments, blocks = self.blocks(self.options.uses)
        spectra = self.spectra(moments, blocks)
        if spectra is None:
            return None
        of_y = np.linalg.eigvalsh(moments.y_covariance())
        most = min(m.rank for m in self.maps)
        found = []
        for k in range(2):
            # With several responses view k's unfolding is n_k × (q · the others').
            other = np.outer(of_y, spectra[1 - k]).ravel()
            edge = noise_edge(self.n_features, self.size or 1.0, covariances=(spectra[k], other))
            found.append(left_vectors(unfolding(blocks, k), most)[1] / (self.selection * edge or 1.0))
        return np.min(found, axis=0)

    @property
    def clear(self) -> int | None:
        """The number of leading singular values that are clear of the noise."""
        if self.ratios is None:
            return None
        above = self.ratios > CLEAR_OF_NOISE
        return len(above) if above.all() else int(np.argmin(above))

    @cached_property
    def unseen(self) -> int:
        """Directions that within-view moments or means show beyond noise, and cross moments do not show strongly.

        Of the view with more of them; 0 if the noise is not known.
        """
        if self.moments is None or self.ratios is None:
            return 0
        moments, blocks = self.blocks(CROSS | {"within", "means"})
        spectra = self.spectra(moments, blocks)
        return 0 if spectra is None else max(self._unseen_of(k, moments, blocks, spectra[k]) for k in range(2))

    def _unseen_of(self, k: int, moments: Moments, blocks: NormalizedMoments, spectrum: Array) -> int:
        """The same for view k, where the strong cross directions U are taken off first.

        U is known up to an angle of about 1/ratio only (Wedin), so some of what lies in its span stays.
        """
        assert self.ratios is not None
        strong = int(np.sum(self.ratios > STRONG))
        angle = 1.0 / self.ratios[strong - 1] if strong else 0.0
        U = left_vectors(unfolding(blocks, k), strong)[0]
        of_y = np.clip(np.linalg.eigvalsh(moments.y_covariance()), 0, None)
        mean, size = blocks.means[k], self.size or 1.0
        # The length of a vector of n noises is √n, and hardly more than √n + 3.
        limit = np.sqrt(of_y.sum() / size) * (np.sqrt(spectrum.sum()) + 3.0) + angle * np.linalg.norm(mean)
        unseen = int(np.linalg.norm(mean - U @ (U.T @ mean)) > limit)
        if (k, k) in blocks.pairs:
            P = np.eye(len(U)) - U @ U.T
            T = blocks.pair(k, k)
            edge = noise_edge(self.n_features, size, covariances=(spectrum, np.outer(of_y, spectrum).ravel()))
            limit = CLEAR_OF_NOISE * self.selection * edge + angle**2 * np.linalg.norm(np.hstack(list(T)), 2)
            unseen = max(unseen, int(np.sum(left_vectors(np.hstack(list(P @ T @ P)), len(P))[1] > limit)))
        return unseen
