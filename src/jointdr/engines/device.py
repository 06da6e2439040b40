"""The engine of an accelerator: blocks are copied to it one ahead of the block that is folded there."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from jointdr.arrays import Array, is_sparse
from jointdr.engines.folds import Block
from jointdr.engines.stream import Task, Told
from jointdr.sources import Source

BLOCK_BYTES = 256_000_000
"""A block is about this large. Three of them are on the device at a time, with copies that folding makes of one."""


def require_torch() -> Any:
    """The package torch, or an error that says how to get it."""
    try:
        import torch
    except ImportError:
        raise ImportError("Data is streamed to an accelerator by PyTorch: pip install torch.") from None
    return torch


@dataclass(frozen=True)
class Device:
    """Folds the blocks of a source on a device of PyTorch.

    Parameters
    ----------
    name : str
        ``"cuda"``, ``"cuda:1"``, ``"cpu"``, ...
    block_bytes : int
    """

    name: str
    block_bytes: int = BLOCK_BYTES

    def width(self) -> int:
        """How many leaves are folded at a time."""
        return 1

    def run(self, task: Task, leaves: Sequence[Any], watch: Any = None) -> Any:
        """The state of all leaves."""
        return task(leaves, Told(watch), early=True, placed=self.placed if task.views else None)

    def template(self, X: Array) -> Array:
        """A view without rows, as folds get to see it."""
        torch = require_torch()
        return _tensor(torch, X).to(self.name)

    def placed(self, blocks: Iterator[Block]) -> Iterator[Block]:
        """The same blocks with their views on the device; the next one is on its way while one is used."""
        torch = require_torch()
        device = torch.device(self.name)
        copied: Callable[[Block], Arriving] = _Copies(torch, device) if device.type == "cuda" else _Plain(torch, device)
        held: Arriving | None = None
        for block in blocks:
            coming = copied(block)
            if held is not None:
                yield held()
            held = coming
        if held is not None:
            yield held()


Arriving = Callable[[], Block]
"""Gives a block whose copies have been started, to be used by what is asked of the device from now on."""


@dataclass
class _Plain:
    """Copies that are done when they are asked for, if the device has memory of its own at all."""

    torch: Any
    device: Any

    def __call__(self, block: Block) -> Arriving:
        views = tuple(_tensor(self.torch, X).to(self.device) for X in block.views)
        return lambda: replace(block, views=views)


class _Copies:
    """Copies on a stream of their own, from pinned memory, so that they run beside the products."""

    def __init__(self, torch: Any, device: Any) -> None:
        self.torch, self.device = torch, device
        self.stream = torch.cuda.Stream(device)
        self.staged: list[list[Any]] = [[], [], []]
        self.done: list[Any] = [None, None, None]
        self.turn = 0

    def __call__(self, block: Block) -> Arriving:
        torch = self.torch
        self.turn = (self.turn + 1) % len(self.done)
        if self.done[self.turn] is not None:
            self.done[self.turn].synchronize()  # what was staged here has arrived
        with torch.cuda.stream(self.stream):
            views = tuple(self._pinned(k, X).to(self.device, non_blocking=True) for k, X in enumerate(block.views))
            done = self.done[self.turn] = torch.cuda.Event()
            done.record(self.stream)

        def arrived() -> Block:
            products = torch.cuda.current_stream(self.device)
            products.wait_event(done)
            for X in views:
                X.record_stream(products)  # its memory is not used again before they are done with it
            return replace(block, views=views)

        return arrived

    def _pinned(self, k: int, X: Array) -> Any:
        """The rows in memory that the device can read by itself: their own, or a buffer that is used again."""
        tensor = _tensor(self.torch, X)
        if tensor.is_pinned():
            return tensor
        buffers = self.staged[self.turn]
        if len(buffers) <= k:
            buffers.append(self.torch.empty(0, dtype=tensor.dtype, pin_memory=True))
        if buffers[k].numel() < tensor.numel() or buffers[k].dtype != tensor.dtype:
            buffers[k] = self.torch.empty(tensor.numel(), dtype=tensor.dtype, pin_memory=True)
        return buffers[k][: tensor.numel()].view(tensor.shape).copy_(tensor)


def _tensor(torch: Any, X: Array) -> Any:
    if is_sparse(X):
        raise TypeError("Sparse views cannot be streamed to an accelerator: fold them on the processor, or densify.")
    X = np.asarray(X)
    return torch.from_numpy(X if X.flags.writeable else X.copy())


def on_device(source: Source, device: str = "cuda", block_bytes: int = BLOCK_BYTES) -> Source:
    """The same source, whose blocks are copied to an accelerator and folded there.

    Memory on the device stays at a few blocks, however much data there is. Arrays that fit there are folded fastest if
    they are given to `fit` as arrays on the device, without this.

    Parameters
    ----------
    source : Source
        Made by the functions of `jointdr.io`. `scan_arrays` of tensors in pinned memory are copied without a detour.
    device : str
        A device of PyTorch.
    block_bytes : int
        How much is copied and folded at a time.

    Examples
    --------
    >>> from jointdr import JDR
    >>> from jointdr.datasets import make_bilinear
    >>> from jointdr.io import on_device, scan_arrays
    >>> X, y, _ = make_bilinear(5000, n_features=(20, 10), n_components=2, random_state=0)
    >>> source = scan_arrays(a=X["a"], b=X["b"], y=y)
    >>> model = JDR(2).fit(on_device(source, "cuda"))  # doctest: +SKIP
    """
    torch = require_torch()
    try:
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as error:
        raise ValueError(f"device={device!r} is none that PyTorch can use here: {error}") from error
    if block_bytes < 1:
        raise ValueError(f"block_bytes={block_bytes!r} must be positive: it says how much is copied at a time.")
    source = copy.copy(source)
    source.engine = Device(str(device), int(block_bytes))
    return source
