"""Kernel regression on a grid of pairs, with weights and products on an accelerator, in double precision."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from jointdr.engines import require_torch
from jointdr.prediction.heads.head import EntitySet
from jointdr.prediction.heads.kernels import VANISHING, AnyKernel, Kernel, Mixture
from jointdr.prediction.heads.regression import GridRegression
from jointdr.prediction.ranking import ScoreBlock, Scorer
from jointdr.runtime import Array, is_sparse, slices


@dataclass(frozen=True)
class DeviceRegression(GridRegression):
    """`GridRegression` whose `scorer` runs on a device of PyTorch; scores come back to the host, block by block.

    What is not written for it runs on the host: kernels that are adaptive, cut to the nearest entities or on sparse
    points, and new columns with bandwidth 0.
    """

    device: str = "cuda"

    def scorer(self, rows: EntitySet, columns: EntitySet, max_bytes: float, count: bool = False) -> Scorer:
        """A function that predicts the scores of some rows with all columns, as `GridRegression.scorer`."""
        if (grid := self.asked(rows, columns)) is not self:
            grid.__dict__.setdefault("_scores_on_device", self._scores_on_device)  # which all of them share
            return grid.scorer(rows, columns, max_bytes, count)
        by_themselves = columns.is_everything and self.kernels[1].is_identity
        sides = self.kernels[:1] if by_themselves else self.kernels
        if not all(_is_simple(part) for kernel in sides for part in _parts(kernel)):
            return super().scorer(rows, columns, max_bytes, count)
        a = _DeviceWeights(self.kernels[0], rows, self.device)
        b = None if by_themselves else _DeviceWeights(self.kernels[1], columns, self.device)
        return lambda at: self._block(a.weights(at), b, max_bytes, count)

    def neighbor_counter(self, rows: EntitySet, columns: EntitySet, max_bytes: float) -> Callable[[slice], Array]:
        """A function to the effective number of known pairs behind each score of `scorer`."""
        scorer = self.scorer(rows, columns, max_bytes, count=True)
        return lambda at: scorer(at).notes["neighbors"]

    def _block(self, K: Any, b: _DeviceWeights | None, max_bytes: float, count: bool) -> ScoreBlock:
        torch = require_torch()
        Y, pattern = self._scores_on_device
        if self.complete:
            total = K.sum(dim=1, keepdim=True)
            isolated = total <= VANISHING
            N = _times(K / torch.where(isolated, 1.0, total), Y)
            parts: tuple[Any, ...] = (torch.where(isolated, self._mean_row, N),)
        else:
            K = _scale_to_largest(torch, K)
            parts = (_times(K, Y), _times(K, pattern))
        of_squares = _times(K * K, pattern) if count and not self.complete else None
        found = [
            self._scores(torch, parts, None if b is None else b.weights(at), of_squares, slice(at.start, at.stop))
            for at in slices(self.Y.shape[1] if b is None else b.count, self._step(b, max_bytes))
        ]
        scores, neighbors = (
            torch.hstack([pair[k] for pair in found]).cpu().numpy() if found[0][k] is not None else None for k in (0, 1)
        )
        assert scores is not None
        if not self.complete and np.isnan(scores).any():
            columns = self.column_weights(EntitySet(self.shape[1]) if b is None else b.selection, max_bytes)
            scores = np.where(np.isnan(scores), self.column_means(columns, None), scores)
        if count and self.complete:
            of_columns = np.concatenate([pair[2] for pair in found])
            neighbors = np.outer(_effective(torch, K), of_columns)
        return ScoreBlock(scores, {"neighbors": neighbors} if count else {})

    def _scores(self, torch: Any, parts: Any, L: Any, of_squares: Any, at: slice) -> tuple[Any, Any, Any]:
        """Scores with some columns, their effective neighbors on an incomplete grid, those of columns on a grid."""
        if self.complete:
            (N,) = parts
            if L is None:
                return N[:, at], None, np.ones(at.stop - at.start)
            total = L.sum(dim=1)
            isolated = total <= VANISHING
            scores = (N @ L.T) / torch.where(isolated, 1.0, total)
            return torch.where(isolated, N.mean(dim=1, keepdim=True), scores), None, _effective(torch, L)
        L = None if L is None else _scale_to_largest(torch, L)
        sums, total = (part[:, at] if L is None else part @ L.T for part in parts)
        scores = torch.where(total > VANISHING, sums / torch.where(total > VANISHING, total, 1.0), torch.nan)
        if of_squares is None:
            return scores, None, None
        squares = of_squares[:, at] if L is None else of_squares @ (L * L).T
        some = squares > VANISHING
        return scores, torch.where(some, total**2 / torch.where(some, squares, 1.0), 0.0), None

    def _step(self, b: _DeviceWeights | None, max_bytes: float) -> int:
        m_B = self.Y.shape[1]
        return m_B if b is None else max(1, int(max_bytes / (24 * m_B)))

    @cached_property
    def _scores_on_device(self) -> tuple[Any, Any]:
        """Y and its pattern on the device, transposed where they are sparse."""
        return _on(self.Y, self.device), None if self.complete else _on(self.pattern, self.device)

    @cached_property
    def _mean_row(self) -> Any:
        return _on(self._mean_rows(None), self.device)


class _DeviceWeights:
    """The kernel weights of known entities for some of one kind, computed on the device.

    Parameters
    ----------
    kernel : Kernel or Mixture
    selection : EntitySet
    device : str
    """

    def __init__(self, kernel: AnyKernel, selection: EntitySet, device: str) -> None:
        self.kernels, self.selection, self.count = _parts(kernel), selection, selection.count
        self.points = [_on(part.points, device) for part in self.kernels]
        new = [None] * len(self.kernels) if selection.tables is None else selection.tables
        self.new = [None if table is None else _on(np.asarray(table), device) for table in new]
        self.shares = kernel.shares if isinstance(kernel, Mixture) else None
        self.self_weight = kernel.self_weight if isinstance(kernel, Mixture) and selection.tables is None else 0.0

    def _known(self, torch: Any, at: slice) -> Any:
        """The indices of some of the known entities, on the device."""
        indices = np.arange(at.start, at.stop) if self.selection.indices is None else self.selection.indices[at]
        return torch.as_tensor(indices, device=self.points[0].device)

    def weights(self, at: slice) -> Any:
        """The weights of the known entities for some of the new or known ones, (rows, m)."""
        torch = require_torch()
        if self.shares is None:
            return self._of(torch, 0, at)
        mixed: Any = 0.0
        for t, share in enumerate(self.shares):
            if share * (1.0 - self.self_weight) > 0:
                K = self._of(torch, t, at)
                total = K.sum(dim=1, keepdim=True)
                factor = share * (1.0 - self.self_weight) / torch.where(total > VANISHING, total, torch.inf)
                mixed = K.mul_(factor) + mixed
        if self.self_weight > 0:
            known = self._known(torch, at)
            kept = torch.nn.functional.one_hot(known, len(self.points[0])).to(torch.float64)
            mixed = kept * self.self_weight + mixed
        return mixed

    def _of(self, torch: Any, t: int, at: slice) -> Any:
        kernel, points, Z = self.kernels[t], self.points[t], self.new[t]
        rows = points[self._known(torch, at)] if Z is None else Z[at]
        D = (rows @ points.T).mul_(-2.0)
        if kernel.cosine:
            D.add_(2.0)
        else:
            D.add_((rows * rows).sum(dim=1, keepdim=True)).add_((points * points).sum(dim=1))
        D.clamp_(min=0.0)
        if Z is None:
            D[torch.arange(len(D), device=D.device), self._known(torch, at)] = 0.0
        if kernel.cosine:
            return D.mul_(-0.5).add_(1.0).clamp_(min=0.0).pow_(1.0 / kernel.h_squared)
        return D.mul_(-0.5 / kernel.h_squared).exp_()


def _parts(kernel: AnyKernel) -> Sequence[Kernel]:
    return kernel.kernels if isinstance(kernel, Mixture) else (kernel,)


def _is_simple(kernel: Kernel) -> bool:
    plain = kernel.adaptive is None and not kernel.is_truncated and not is_sparse(kernel.points)
    return plain and not kernel.is_identity


def _on(X: Array, device: str) -> Any:
    """An array on the device; a sparse one transposed, which is the side that it is multiplied from."""
    torch = require_torch()
    if not is_sparse(X):
        return torch.as_tensor(np.ascontiguousarray(X, dtype=np.float64)).to(device)
    turned = sparse.csr_array(X.T)
    parts = (turned.indptr.astype(np.int64), turned.indices.astype(np.int64), turned.data.astype(np.float64))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # that they are new in PyTorch
        tensors = map(torch.as_tensor, parts)
        return torch.sparse_csr_tensor(*tensors, size=turned.shape, check_invariants=False).to(device)


def _times(K: Any, Y: Any) -> Any:
    """K Y, where a sparse Y is transposed already."""
    return K @ Y if Y.layout == require_torch().strided else (Y @ K.T).T


def _scale_to_largest(torch: Any, K: Any) -> Any:
    """Rows of weights in units of their largest; 0 where there are none."""
    most = K.amax(dim=1, keepdim=True)
    return torch.where(most > VANISHING, K / torch.where(most > VANISHING, most, 1.0), 0.0)


def _effective(torch: Any, K: Any) -> Array:
    """(Σ w)²/Σ w² of each row of weights, (rows,)."""
    K = _scale_to_largest(torch, K)
    return (K.sum(dim=1) ** 2 / (K * K).sum(dim=1).clamp(min=VANISHING)).cpu().numpy()
