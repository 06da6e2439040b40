"""Files that once broke a reader, or tried to: each is refused by an error that names it, or read.

The name of a file begins with that of its target in ``fuzz/readers.py``. ``fuzz/files.py`` finds more.
"""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("pandas")
pytest.importorskip("pyarrow")
pytest.importorskip("starlette")

from fuzz.readers import TARGETS, outcome

FILES = sorted((Path(__file__).parent / "corpus").iterdir())


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_a_bad_file_is_refused_by_name(path, tmp_path):
    copy = tmp_path / path.name  # what is read may write beside it
    copy.write_bytes(path.read_bytes())
    target = TARGETS[path.name.split("-")[0]]
    assert outcome(target, copy) is None
    with pytest.raises(ValueError, match=path.name.replace(".", r"\.")):
        target.read(copy)


@pytest.mark.parametrize("name", TARGETS)
def test_a_sound_file_is_read(name, tmp_path):
    """Else nothing that is derived from it would say anything."""
    target = TARGETS[name]
    path = tmp_path / f"sound{target.ending}"
    path.write_bytes(target.seeds()[-1 if name == "parquet_pairs" else 0])
    assert target.read(path) is not None
