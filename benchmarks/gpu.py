"""JDR on an accelerator: on arrays that lie there, and on host memory that is streamed there.

    python benchmarks/gpu.py [--rows 4000000] [--features 1000] [--stream-rows 2000000] [--device cuda]

Every figure is a ratio to something that is measured in the same run: a fit to the three bare products of PyTorch that
it cannot do without, a streamed fit to the slower of the copy and the products, and the results to those of NumPy.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from scipy import sparse

from jointdr import JDR, AssociationModel, Dyads
from jointdr.engines.device import BLOCK_BYTES
from jointdr.engines.stream import Stream
from jointdr.io import on_device, scan_arrays
from jointdr.metrics import subspace_error

RANK = 5
REPEATS = 5


def seconds(work: Callable[[], Any], device: str, repeats: int = REPEATS) -> float:
    """The fastest of some runs, after one that is not counted."""
    taken = []
    for _ in range(repeats + 1):
        _wait(device)
        began = time.perf_counter()
        work()
        _wait(device)
        taken.append(time.perf_counter() - began)
    return min(taken[1:])


def _wait(device: str) -> None:
    if device.startswith("cuda"):
        torch.cuda.synchronize(device)


def views(
    m: int, n: int, dtype: torch.dtype, device: str, seed: int = 0
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Two views with means, and a response that is bilinear in five directions of each; made in blocks."""
    generator = torch.Generator(device).manual_seed(seed)
    A, B = (torch.empty((m, n), dtype=dtype, device=device) for _ in range(2))
    y = torch.empty(m, dtype=torch.float64, device=device)
    for start in range(0, m, 100_000):
        at = slice(start, min(start + 100_000, m))
        for X in (A, B):
            X[at].normal_(generator=generator)
        y[at] = (A[at, :RANK] * B[at, :RANK]).sum(dim=1).double()
        y[at] += torch.randn(y[at].shape, generator=generator, device=device, dtype=torch.float64)
        A[at] += 1.0
    return A, B, y


def products(A: torch.Tensor, B: torch.Tensor) -> None:
    """The three bare products."""
    _ = A.T @ A, B.T @ B, A.T @ B


def seconds_of_products(m: int, n: int, dtype: torch.dtype, device: str) -> float:
    """Of so many rows, told by a part of them that does not fill the device."""
    part = min(m, 500_000)
    A, B, _ = views(part, n, dtype, device)
    return seconds(lambda: products(A, B), device) * m / part


def on_the_device(m: int, n: int, dtype: torch.dtype, device: str) -> None:
    A, B, y = views(m, n, dtype, device)
    bare = seconds(lambda: products(A, B), device)
    fit = seconds(lambda: JDR(RANK).fit((A, B), y), device)
    rate = 6 * m * n**2 / bare / 1e12
    print(
        f"{dtype!s:14} m = {m}, n = {n}: products {bare:.3f} s ({rate:.0f} TFLOP/s), fit {fit:.3f} s, "
        f"ratio {fit / bare:.2f}",
        flush=True,
    )


def streamed(m: int, n: int, dtype: torch.dtype, device: str) -> None:
    """From pinned memory of the host, which the device copies from while it multiplies."""
    pinned = device.startswith("cuda")
    A, B = (torch.empty((m, n), dtype=dtype, pin_memory=pinned) for _ in range(2))
    y = np.empty(m)
    for start in range(0, m, 100_000):
        at = slice(start, min(start + 100_000, m))
        a, b, z = views(at.stop - start, n, dtype, device, start)
        A[at], B[at], y[at] = a.cpu(), b.cpu(), z.cpu().numpy()
    nbytes = 2 * m * n * A.element_size()
    rows = BLOCK_BYTES // (2 * n * A.element_size())

    def copies() -> None:
        for at in range(0, m, rows):
            for X in (A, B):
                X[at : at + rows].to(device, non_blocking=True)

    copy, bare = seconds(copies, device, 2), seconds_of_products(m, n, dtype, device)
    source = on_device(scan_arrays(a=A, b=B, y=y), device)
    # The stream alone is what the rows cost; a fit has two decompositions of n × n matrices on the host beside it.
    fold = seconds(lambda: Stream(source).moments(cross_covariance=False), device, 2)
    fit = seconds(lambda: JDR(RANK).fit(source), device, 2)
    floor = max(copy, bare)
    print(
        f"{dtype!s:14} m = {m}, n = {n}: copy {copy:.3f} s ({nbytes / copy / 1e9:.0f} GB/s), products {bare:.3f} s; "
        f"streamed {fold:.3f} s, {nbytes / fold / 1e9:.0f} GB/s, {floor / fold:.0%} of the slower of the two; "
        f"whole fit {fit:.3f} s, {floor / fit:.0%}",
        flush=True,
    )


def agreement(m: int, n: int, dtype: torch.dtype, device: str) -> None:
    A, B, y = views(m, n, dtype, device)
    a, b = A.cpu().numpy().astype(np.float64), B.cpu().numpy().astype(np.float64)
    there, here = JDR(RANK).fit((A, B), y), JDR(RANK).fit((a, b), y.cpu().numpy())
    pairs = [
        (there.moments_.about(0).thirds[0, 1], here.moments_.about(0).thirds[0, 1]),
        (there.moments_.central().scatters[0], here.moments_.central().scatters[0]),
        (there.singular_values_, here.singular_values_),
    ]
    moments = max(float(np.abs(p - q).max() / np.abs(q).max()) for p, q in pairs)
    spans = max(subspace_error(U, V) for U, V in zip(there.embeddings_, here.embeddings_, strict=True))
    print(f"{dtype!s:14} m = {m}, n = {n}: moments differ by {moments:.1e}, subspaces by {spans:.1e}", flush=True)


def associations(m: int, new: int, links: int, device: str) -> None:
    """Kernel regression between m rows and m columns: scores of new rows, and the best columns of each."""
    rng = np.random.default_rng(0)
    A, B = rng.standard_normal((m + new, RANK)), rng.standard_normal((m, RANK))
    at = rng.integers(0, m, (2, links))
    Y = sparse.csr_array((np.ones(links), (at[0], at[1])), shape=(m, m))
    model = AssociationModel(None, head="kernel", bandwidth=(0.2, 0.2), nearest=None).fit(Dyads(Y, A[:m], B))
    took, scores = {}, {}
    for place in (None, device):
        model.set_params(device=place)
        scores[place] = model.predict(A[m : m + 100])
        took[place] = [
            seconds(lambda: model.predict(A[m:]), device, 1),
            seconds(lambda: model.recommend(A[m:], k=20), device, 1),
        ]
    differ = float(np.abs(scores[None] - scores[device]).max() / np.abs(scores[None]).max())
    ratios = [host / there for host, there in zip(took[None], took[device], strict=True)]
    print(
        f"{m} x {m}, {links} links, {new} new rows: predict {took[device][0]:.2f} s, {ratios[0]:.1f} times as fast as "
        f"the host; recommend {took[device][1]:.2f} s, {ratios[1]:.1f} times; scores differ by {differ:.1e}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=4_000_000)
    parser.add_argument("--stream-rows", type=int, default=8_000_000, help="of float32; half of them of float64")
    parser.add_argument("--features", type=int, default=1000)
    parser.add_argument("--entities", type=int, default=20_000)
    parser.add_argument("--parts", nargs="*", default=["agreement", "device", "stream", "kernel"], help="which")
    parser.add_argument("--device", default="cuda")
    given = parser.parse_args()
    name = torch.cuda.get_device_name(given.device) if given.device.startswith("cuda") else "processor"
    print(f"{name}, torch {torch.__version__}")
    single, double = torch.float32, torch.float64
    if "agreement" in given.parts:
        print("\nThe same as NumPy, in double precision:")
        for dtype in (single, double):
            agreement(min(given.rows, 100_000), min(given.features, 300), dtype, given.device)
    if "device" in given.parts:
        print("\nArrays on the device:")
        for dtype in (single, double):
            on_the_device(given.rows, given.features, dtype, given.device)
    if "stream" in given.parts:
        print("\nStreamed from pinned memory of the host:")
        for dtype, share in ((single, 1), (double, 2)):
            streamed(given.stream_rows // share, given.features, dtype, given.device)
    if "kernel" in given.parts:
        print("\nKernel regression, against all cores of the host:")
        associations(given.entities, 1000, 100 * given.entities, given.device)


if __name__ == "__main__":
    main()
