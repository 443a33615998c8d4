"""Expected counts: one backward pass per agent and chunk of episodes (`kernels.expectation`), summed in order."""

from collections.abc import Iterable, Sequence
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from decpomdp.engines import threads as engine
from decpomdp.filtering.filter import Filtered, FilteredChunks, filter_slots
from decpomdp.filtering.layout import Buffers, Layout, group_size
from decpomdp.kernels.expectation import Slots, Tables, Tally, count_chunk


def counted(
    layout: Layout,
    tables: Sequence[Tables],
    nu: NDArray[np.float64],
    chunks: FilteredChunks,
    threads: int | None = None,
) -> list[Tally]:
    """The tally of every agent, computed by threads or on a cluster. Frees the filtered chunks."""
    if layout.shards is not None:
        return layout.shards.counted(tables, nu, chunks)

    pieces = layout.pieces

    def piece(number: int) -> Tally:
        n, c = pieces[number]
        chunk, chunks[number] = chunks[number], None
        tally = count_slots(layout.chunks[n][c], tables[n], nu, chunk, layout.buffers)
        if chunk is not None:
            layout.buffers.give(chunk[0])
        return tally

    tallies = engine.run(piece, len(pieces), threads)
    owners = [n for n, _ in pieces]
    return [added(tally for m, tally in zip(owners, tallies, strict=True) if m == n) for n in range(len(layout.chunks))]


def count_slots(
    slots: Slots, tables: Tables, nu: NDArray[np.float64], filtered: Filtered | None, buffers: Buffers
) -> Tally:
    """Count one chunk of one agent; filter it first if `filtered` is None."""
    alpha, inverse = filtered or filter_slots(slots, tables, buffers)
    tally = Tally(np.zeros(tables.initial.shape), np.zeros(tables.act.shape), np.zeros(tables.move.shape))
    carried = buffers.take(len(alpha), alpha.shape[1], alpha.dtype)
    scratch = np.empty((group_size(slots), alpha.shape[1]), alpha.dtype)
    count_chunk(slots, tables, alpha, inverse, nu, tally, carried, scratch)
    buffers.give(carried)
    if filtered is None:
        buffers.give(alpha)
    return tally


def added(tallies: Iterable[Tally]) -> Tally:
    """The sum in order: rounding depends on the order."""
    return reduce(lambda total, tally: Tally(*(a + b for a, b in zip(total, tally, strict=True))), tallies)
