"""Finished repetitions on disk, so that an interrupted run goes on where it was."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from jointdr.apps.reproduce.study import Study
from jointdr.runtime import Array, write_text


class Cache:
    """A folder with one subfolder per study and settings, and in it one file per batch of repetitions.

    Results under other settings stay on disk in a folder of their own, and count again when the settings come back.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def load(self, study: Study) -> dict[int, Array]:
        """The repetitions that are finished, each a (curves, x) array."""
        found: dict[int, Array] = {}
        for path in sorted(self._folder(study).glob("repetitions-*.json")):
            try:
                found |= _batch(path.read_text(encoding="utf-8"), (len(study.curves), len(study.x)))
            except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
                raise ValueError(
                    f"{path} is damaged ({error}): delete it, and its repetitions are made again."
                ) from error
        return found

    def store(self, study: Study, repetitions: Sequence[int], values: Sequence[Array], seconds: float) -> None:
        """Add a batch, with the time it took.

        A reader, or a run that starts after this one was killed, sees all of it or nothing.
        """
        folder = self._folder(study)
        folder.mkdir(parents=True, exist_ok=True)
        settings = folder / "settings.json"
        if not settings.exists():
            write_file(settings, json.dumps(study.settings, indent=1))
        numbers = {str(i): np.asarray(v).tolist() for i, v in zip(repetitions, values, strict=True)}
        batch = {"seconds": seconds, "values": numbers}
        write_file(folder / f"repetitions-{repetitions[0]:04d}-{repetitions[-1]:04d}.json", json.dumps(batch))

    def _folder(self, study: Study) -> Path:
        return self.folder / f"{study.name}-{study.key}"


def _batch(text: str, shape: tuple[int, int]) -> dict[int, Array]:
    """The repetitions of one file, each an array of this shape."""
    batch = {int(i): np.array(values, dtype=float) for i, values in json.loads(text)["values"].items()}
    wrong = next((values.shape for values in batch.values() if values.shape != shape), None)
    if wrong is not None:
        raise ValueError(f"a repetition has the shape {wrong} instead of {shape}")
    return batch


def write_file(path: Path, text: str) -> None:
    """Write a file, whole or not at all, into a folder that is made if it is not there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text(path, text)
