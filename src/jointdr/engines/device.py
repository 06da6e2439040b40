"""The engine of an accelerator: blocks are copied to it one ahead of the block that is reduced there."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from jointdr.engines.lanes import Lanes, Task, Told, ahead, apply_steps
from jointdr.engines.reduction import RowBlock
from jointdr.engines.source import Source
from jointdr.runtime import Array, check_device, check_number, is_sparse

BLOCK_BYTES = 512_000_000  # of a block: three are on the device at a time, with copies that a reduction makes of one
PIECE_BYTES = 16_000_000  # a block is copied in pieces of this size


def require_torch() -> Any:
    """The package torch, or an error with the command that installs it."""
    try:
        import torch
    except ImportError:
        raise ImportError("Data is streamed to an accelerator by PyTorch: pip install torch.") from None
    return torch


def require_device(device: str) -> None:
    """Raise unless PyTorch has this device."""
    check_device(device)
    torch = require_torch()
    try:
        torch.zeros(1, dtype=torch.float64, device=device).item()
    except (RuntimeError, AssertionError, TypeError) as error:
        why = (str(error).splitlines() or [""])[0]
        raise ValueError(f"PyTorch cannot compute in double precision on device={device!r}: {why}") from error


@dataclass(frozen=True)
class Device:
    """Reduces the blocks of a source on a device of PyTorch.

    Parameters
    ----------
    name : str
        ``"cuda"``, ``"cuda:1"``, ``"cpu"``, ...
    block_bytes : int
    """

    name: str
    block_bytes: int = BLOCK_BYTES

    def width(self) -> int:
        return 1

    def run(self, task: Task, leaves: Sequence[Any], watch: Any = None) -> Any:
        """The state of all leaves; a read of the response alone stays on the host."""
        if not task.views:
            return Lanes().run(task, leaves, watch)
        told, steps = Told(watch), task.steps
        needs_views = any(getattr(step, "needs_views", False) for step in steps)
        if needs_views or not getattr(task.reduction, "takes_any_response", False):
            return task(leaves, told, ahead, placed=self.placed)

        # Responses go along with the views: a small copy would have to wait for the large ones that are under way.
        def placed(blocks: Iterator[RowBlock]) -> Iterator[RowBlock]:
            return self.placed((apply_steps(block, steps) for block in blocks if len(block.y)), responses=True)

        return replace(task, steps=())(leaves, told, ahead, placed=placed)

    def template(self, X: Array) -> Array:
        """A view without rows, as reductions get to see it."""
        return _tensor(require_torch(), X).to(self.name)

    def placed(self, blocks: Iterator[RowBlock], responses: bool = False) -> Iterator[RowBlock]:
        """The same blocks with their views on the device; the next one is on its way while one is used.

        With `responses` these, and weights, go there as well.
        """
        torch = require_torch()
        device = torch.device(self.name)
        copied = (_Copies if device.type == "cuda" else _Plain)(torch, device, responses)
        held: Arriving | None = None
        for block in blocks:
            coming = copied(block)
            if held is not None:
                yield held()
                copied.used()
            held = coming
        if held is not None:
            yield held()


Arriving = Callable[[], RowBlock]  # a block whose copies are under way, for what is asked of the device from now on


def _parts_of(block: RowBlock, responses: bool) -> list[Array]:
    return [*block.views, *(X for X in (block.y, block.weight) if responses and X is not None)]


def _with_parts(block: RowBlock, parts: Sequence[Any], responses: bool) -> RowBlock:
    n = len(block.views)
    if not responses:
        return replace(block, views=tuple(parts))
    return RowBlock(tuple(parts[:n]), parts[n], None if block.weight is None else parts[n + 1], block.first_row)


@dataclass
class _Plain:
    """Copies that are done when they are asked for, if the device has memory of its own at all."""

    torch: Any
    device: Any
    responses: bool

    def __call__(self, block: RowBlock) -> Arriving:
        # Copied even if that is where it is: the memory of a block is used again while another one is reduced.
        parts = [_tensor(self.torch, X).to(self.device, copy=True) for X in _parts_of(block, self.responses)]
        return lambda: _with_parts(block, parts, self.responses)

    def used(self) -> None:
        pass


class _Copies:
    """Copies on a stream of their own, from pinned memory, so that they run beside the products."""

    def __init__(self, torch: Any, device: Any, responses: bool) -> None:
        self.torch, self.device, self.responses = torch, device, responses
        self.stream = torch.cuda.Stream(device)
        self.staged: list[dict[int, Any]] = [{}, {}, {}]
        self.done: list[Any] = [None, None, None]
        self.turn = 0
        self.products: list[Any] = []

    def __call__(self, block: RowBlock) -> Arriving:
        torch = self.torch
        self.turn = (self.turn + 1) % len(self.done)
        if self.done[self.turn] is not None:
            self.done[self.turn].synchronize()  # what was staged here has arrived
        if len(self.products) > 1:
            self.products.pop(0).synchronize()  # no more blocks are on the device than there are turns
        with torch.cuda.stream(self.stream):
            parts = [self._sent(self._pinned(k, X)) for k, X in enumerate(_parts_of(block, self.responses))]
            done = self.done[self.turn] = torch.cuda.Event()
            done.record(self.stream)

        def arrived() -> RowBlock:
            products = torch.cuda.current_stream(self.device)
            products.wait_event(done)
            for X in parts:
                X.record_stream(products)  # its memory is not used again before they are done with it
            return _with_parts(block, parts, self.responses)

        return arrived

    def used(self) -> None:
        """All that a block is used for has been asked of the device."""
        event = self.torch.cuda.Event()
        event.record(self.torch.cuda.current_stream(self.device))
        self.products.append(event)

    def _sent(self, rows: Any) -> Any:
        """The rows on the device, in pieces between which small copies that products wait for find a place."""
        there = self.torch.empty(rows.shape, dtype=rows.dtype, device=self.device)
        size = max(1, PIECE_BYTES // max(1, rows.element_size() * rows[:1].numel()))
        for start in range(0, len(rows), size):
            there[start : start + size].copy_(rows[start : start + size], non_blocking=True)
        return there

    def _pinned(self, k: int, X: Array) -> Any:
        """The rows in memory that the device can read by itself: their own, or a buffer that is used again."""
        tensor = _tensor(self.torch, X)
        if tensor.is_pinned():
            return tensor
        buffers = self.staged[self.turn]
        held = buffers.get(k)
        if held is None or held.numel() < tensor.numel() or held.dtype != tensor.dtype:
            held = buffers[k] = self.torch.empty(tensor.numel(), dtype=tensor.dtype, pin_memory=True)
        return held[: tensor.numel()].view(tensor.shape).copy_(tensor)


def _tensor(torch: Any, X: Array) -> Any:
    if is_sparse(X):
        raise TypeError("Sparse views cannot be streamed to an accelerator: reduce them on the processor, or densify.")
    X = np.asarray(X)
    if not X.dtype.isnative:
        X = X.astype(X.dtype.newbyteorder("="))
    return torch.from_numpy(X if X.flags.writeable and min(X.strides, default=0) >= 0 else X.copy())


def on_device(source: Source, device: str = "cuda", block_bytes: int = BLOCK_BYTES) -> Source:
    """The same source, whose blocks are copied to an accelerator and reduced there.

    Memory on the device stays at a few blocks, however much data there is. Arrays that fit there are reduced fastest if
    they are given to `fit` as arrays on the device, without this.

    Parameters
    ----------
    source : Source
        Made by the functions of `jointdr.io`. `scan_arrays` of tensors in pinned memory are copied without a detour.
    device : str
        A device of PyTorch.
    block_bytes : int
        How much is copied and reduced at a time.

    Examples
    --------
    >>> from jointdr import JDR
    >>> from jointdr.datasets import make_bilinear
    >>> from jointdr.io import on_device, scan_arrays
    >>> X, y, _ = make_bilinear(5000, n_features=(20, 10), n_components=2, random_state=0)
    >>> source = scan_arrays(a=X.arrays[0], b=X.arrays[1], y=y)
    >>> model = JDR(2).fit(on_device(source, "cuda"))  # doctest: +SKIP
    """
    if check_device(device) is None:
        raise ValueError("device=None is the host, on which a source is read anyway: give the name of an accelerator.")
    require_device(device)
    check_number("block_bytes", block_bytes, 1, expected="positive, the number of bytes that are copied at a time")
    source = copy.copy(source)
    source.engine = Device(str(device), int(block_bytes))
    return source
