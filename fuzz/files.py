"""Fuzz a reader of files: ``python fuzz/files.py TARGET --seconds 60``, or ``all`` for all, one after the other.

Files that are sound are changed by libFuzzer, which looks for new paths through the code (pip install atheris), and by
changes that keep the structure: fields, lines, headers, members of archives, with checksums made anew. A file must be
read, or be refused by a ValueError or OSError that names it. Anything else is kept in ``fuzz/found``; move it, as small
as can be, to ``tests/corpus``, and the tests will read it again.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import io
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
import zipfile
from collections import Counter
from pathlib import Path
from typing import Any

import atheris

ROOT = Path(__file__).parents[1]
FOUND = ROOT / "fuzz" / "found"
sys.path.insert(0, str(ROOT))
with atheris.instrument_imports(include=["jointdr"], enable_loader_override=False):
    from fuzz.readers import TARGETS, outcome

import numpy as np  # noqa: E402

WORDS = ["", "0", "-1", "1e400", "nan", "1e-320", "9" * 25, "x" * 1100, "\0", '"', "#", "é", "\t", "NA", "id", "1_0"]
VALUES = [None, True, -1, 0, 10**15, 10**400, 1e308, float("nan"), "", "x", [], [0], {}, [[1]], "JDR", "auto", 0.5]
DTYPES = ["<f8", "<i4", "<U3", "|S1", "|b1", "<c16", "<f2", "|u1"]
EXTRA_BYTES = 3_000_000_000


def of_text(data: bytes, rng: random.Random) -> bytes:
    """Lines and fields changed, doubled, dropped or swapped; compressed now and then."""
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    lines = data.decode("utf-8", "replace").split("\n")
    for _ in range(rng.randint(1, 3)):
        at, other = rng.randrange(len(lines)), rng.randrange(len(lines))
        fields = lines[at].split("\t")
        fields[rng.randrange(len(fields))] = rng.choice([*WORDS, rng.choice(lines[other].split("\t"))])
        lines[at] = rng.choice(["\t".join(fields), lines[other], lines[at] + "\t" + rng.choice(WORDS)])
        if rng.random() < 0.3:
            lines[at : at + 1] = rng.choice([[], [lines[at]] * 2])
            lines = lines or [""]
    changed = "\n".join(lines).encode()
    return gzip.compress(changed, mtime=0) if rng.random() < 0.2 else changed


def of_json(value: Any, rng: random.Random) -> Any:
    """One place of a JSON value changed."""
    if isinstance(value, (dict, list)) and value and rng.random() < 0.9:
        keys = list(value) if isinstance(value, dict) else range(len(value))
        key = rng.choice(keys)
        changed = value.copy()
        if rng.random() < 0.15:
            del changed[key]
        else:
            changed[key] = of_json(value[key], rng)
        return changed
    return rng.choice(VALUES)


def of_array(array: np.ndarray, rng: random.Random) -> np.ndarray:
    """Another type, another shape or another value."""
    kind = rng.randrange(5)
    if kind == 0:
        return np.zeros(array.shape, rng.choice(DTYPES))
    if kind == 1:
        return np.resize(array, tuple(rng.choice([0, 1, 2, 3, 7, n]) for n in array.shape)).astype(array.dtype)
    if kind == 2:
        return array.reshape(rng.choice([(-1,), (1, *array.shape), (*array.shape, 1)]))
    array = array.copy()
    if array.size:
        array.flat[rng.randrange(array.size)] = rng.choice(
            [0, 1, 100] if array.dtype.kind in "biuSU" else [np.nan, 1e30]
        )
    return array


def of_npz(data: bytes, rng: random.Random) -> bytes:
    """Arrays or the header changed, with checksums made anew; members dropped, renamed, compressed."""
    with np.load(io.BytesIO(data), allow_pickle=False) as file:
        arrays = dict(file)
    header = json.loads(arrays.pop("header").tobytes()) if "header" in arrays else None
    for _ in range(rng.randint(0 if header else 1, 2)):
        name = rng.choice(sorted(arrays))
        if rng.random() < 0.8:
            arrays[name] = of_array(arrays[name], rng)
        else:
            arrays[rng.choice([name, f"{name}x", "../x"])] = arrays.pop(name)
        arrays = arrays or {"x": np.zeros(1)}
    if header is not None:
        header = of_json(header, rng) if rng.random() < 0.7 else header
        sums = {n: _checksum(v) for n, v in arrays.items() if n != "seal"}
        text = json.dumps({**header, "checksums": sums} if isinstance(header, dict) else header).encode()
        arrays["header"] = np.frombuffer(text, np.uint8)
        arrays["seal"] = np.frombuffer(hashlib.sha256(text).digest(), np.uint8)
    file = io.BytesIO()
    (np.savez_compressed if rng.random() < 0.2 else np.savez)(file, **arrays)
    return file.getvalue()


def _checksum(value: np.ndarray) -> str:
    text = f"{value.dtype.str}{value.shape}".encode()
    return hashlib.sha256(text + np.ascontiguousarray(value).tobytes()).hexdigest()


def of_npy(data: bytes, rng: random.Random) -> bytes:
    """Another shape or type in the header of an array."""
    shape = tuple(rng.choice([0, 1, 2, 6, 10**15, -1]) for _ in range(rng.randrange(4)))
    told = {"descr": rng.choice([*DTYPES, "|O", "<U0", "|V8"]), "fortran_order": rng.random() < 0.5, "shape": shape}
    text = f"{rng.choice([told, told, [told], dict(list(told.items())[1:])])}\n".encode()
    return data[:8] + len(text).to_bytes(2, "little") + text + data[128:]


def of_zip(data: bytes, rng: random.Random) -> bytes:
    """A member whose array tells of another shape, or is no array."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(out, "w", rng.choice([0, 8, 12, 14])) as new:
        chosen = rng.choice(old.namelist())
        for name in old.namelist():
            new.writestr(name, of_npy(old.read(name), rng) if name == chosen else old.read(name))
    return out.getvalue()


def _of_json_file(data: bytes, rng: random.Random) -> bytes:
    return json.dumps(of_json(json.loads(data), rng)).encode()


STRUCTURED = {".npz": [of_npz, of_npz, of_zip], ".npy": [of_npy], ".json": [_of_json_file], ".parquet": []}


def mutator(ending: str) -> Any:
    """Changes of structure and of bytes, by turns."""
    ways = STRUCTURED.get(ending, [of_text])

    def mutated(data: bytes, most: int, seed: int) -> bytes:
        rng = random.Random(seed)
        if ways and rng.random() < 0.7:
            try:
                return rng.choice(ways)(data, rng)[:most]
            except Exception:  # what was changed before has no structure any more
                pass
        return atheris.Mutate(data, most)

    return mutated


def fuzzed(name: str, seconds: int) -> None:
    """Fuzz one target; prints how often it was run, and what was found."""
    target = TARGETS[name]
    folder = Path(tempfile.mkdtemp(prefix="fuzz-"))
    seeds = folder / "seeds"
    seeds.mkdir()
    for i, data in enumerate(target.seeds()):
        (seeds / str(i)).write_bytes(data)
    path = folder / f"input{target.ending}"
    seen: Counter[str] = Counter()
    began, runs = time.monotonic(), 0

    def once(data: bytes) -> None:
        nonlocal runs
        runs += 1
        path.write_bytes(data)
        before = time.monotonic()
        wrong = outcome(target, path)
        if time.monotonic() - before > 5:
            wrong = "it took more than 5 seconds"
        if wrong is not None:
            key = hashlib.sha256(wrong.split(": ")[0].encode()).hexdigest()[:8]
            seen[key] += 1
            if seen[key] == 1:
                (FOUND / f"{name}-{key}{target.ending}").write_bytes(data)
                print(f"{name}-{key}: {wrong[:300]}", flush=True)
        if time.monotonic() - began > seconds:
            print(f"{name}: {runs} runs, {len(seen)} kinds of defects", flush=True)
            os._exit(0)  # libFuzzer has no other way to be stopped from here

    FOUND.mkdir(exist_ok=True)
    resource.setrlimit(resource.RLIMIT_AS, (EXTRA_BYTES, EXTRA_BYTES))
    options = ["-verbosity=0", "-max_len=60000", "-timeout=30", "-rss_limit_mb=2000", f"-artifact_prefix={FOUND}/"]
    atheris.Setup([sys.argv[0], str(seeds), *options], once, custom_mutator=mutator(target.ending))
    atheris.Fuzz()


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("target", choices=[*TARGETS, "all"])
    parser.add_argument("--seconds", type=int, default=60)
    options = parser.parse_args()
    if options.target != "all":
        fuzzed(options.target, options.seconds)
    for name in TARGETS:  # each in a process of its own, which may die
        subprocess.run([sys.executable, __file__, name, "--seconds", str(options.seconds)], check=False)


if __name__ == "__main__":
    main()
