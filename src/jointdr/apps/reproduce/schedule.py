"""The work: repetitions that are not in the cache yet, on one or several processes."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import joblib
import numpy as np
from threadpoolctl import threadpool_limits

from jointdr.apps.reproduce.cache import Cache
from jointdr.apps.reproduce.study import Study
from jointdr.runtime import Array, Report, memory

BATCH_SECONDS = 10.0  # repetitions are stored in batches of about this length: an interruption loses no more than that


class Batch(NamedTuple):
    """Some repetitions of a study, which are stored together."""

    study: Study
    repetitions: tuple[int, ...]

    @property
    def seconds(self) -> float:
        return self.study.seconds * len(self.repetitions)


def measure_studies(
    studies: Sequence[Study], repetitions: Sequence[int], cache: Cache, jobs: int, report: Report
) -> dict[str, Array]:
    """The results of each study, (repetitions, curves, x), from the cache as far as it has them.

    Numbers do not depend on `jobs`: every repetition has its own seed, and one thread of linear algebra.
    """
    done = {study.name: cache.load(study) for study in studies}
    batches = [
        batch
        for study, wanted in zip(studies, repetitions, strict=True)
        for batch in _batches(study, [i for i in range(wanted) if i not in done[study.name]])
    ]
    # Long ones last would leave a core idle; those that are timed come when all others have ended.
    batches.sort(key=lambda batch: (batch.study.alone, -batch.study.seconds))
    pace = _Pace(batches, jobs)
    for k, values, seconds in _run(batches, jobs):
        study, numbers = batches[k]
        cache.store(study, numbers, values, seconds)
        done[study.name] |= dict(zip(numbers, values, strict=True))
        share, left = pace.after(k, seconds)
        report(f"{study.name}: {len(done[study.name])} repetitions", share, left)
    return {
        study.name: np.stack([done[study.name][i] for i in range(wanted)])
        for study, wanted in zip(studies, repetitions, strict=True)
    }


def _batches(study: Study, missing: Sequence[int]) -> Iterator[Batch]:
    size = max(1, int(BATCH_SECONDS / max(study.seconds, 1e-3)))
    for start in range(0, len(missing), size):
        yield Batch(study, tuple(missing[start : start + size]))


def _run(batches: Sequence[Batch], jobs: int) -> Iterator[tuple[int, list[Array], float]]:
    """The results of all batches, with their number and the seconds they took, in the order in which they end."""
    pooled = [k for k, batch in enumerate(batches) if not batch.study.alone]
    if jobs == 1 or len(pooled) < 2:
        pooled = []
    if pooled:
        pool = joblib.Parallel(n_jobs=jobs, return_as="generator_unordered", batch_size=1)
        work = memory.share_budget(_work, min(jobs, len(pooled)))
        yield from pool(joblib.delayed(work)(k, batches[k]) for k in pooled)
    yield from (_work(k, batches[k]) for k in sorted(set(range(len(batches))) - set(pooled)))


def _work(k: int, batch: Batch) -> tuple[int, list[Array], float]:
    start = time.perf_counter()
    with threadpool_limits(1):
        values = [batch.study.measure(batch.study.seed(i)) for i in batch.repetitions]
    return k, values, time.perf_counter() - start


class _Pace:
    """The time left: that of like batches where one has ended, that of a guess corrected by all others elsewhere."""

    def __init__(self, batches: Sequence[Batch], jobs: int) -> None:
        self.jobs = jobs
        self.waiting = dict(enumerate(batches))
        self.guessed: dict[str, float] = defaultdict(float)
        self.taken: dict[str, float] = defaultdict(float)

    def after(self, k: int, seconds: float) -> tuple[float, float]:
        """The share of work done and the seconds left, after batch k took so many."""
        batch = self.waiting.pop(k)
        self.guessed[batch.study.name] += batch.seconds
        self.taken[batch.study.name] += seconds
        overall = sum(self.taken.values()) / sum(self.guessed.values())
        pace = {name: self.taken[name] / self.guessed[name] for name in self.taken}
        left = sum(b.seconds * pace.get(b.study.name, overall) for b in self.waiting.values())
        return sum(self.taken.values()) / (sum(self.taken.values()) + left), left / self.jobs
