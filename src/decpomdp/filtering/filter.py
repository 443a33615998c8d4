"""Filter and count: episodes and controllers into likelihoods and expected counts (`kernels.expectation`).

Filter: the probability of every action given the agent's own history, with the hidden node summed out, by one forward
pass per agent and chunk of episodes. `log_likelihood` returns only the probabilities. Count: one backward pass over the
filtered node distributions, summed over the chunks in order.
"""

from collections.abc import Iterable, Sequence
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from decpomdp.core import Episodes, Team
from decpomdp.engines import threads as engine
from decpomdp.filtering.layout import Buffers, Layout, group_size, lay_out
from decpomdp.kernels.expectation import FilterTables, Slots, Tally, count_chunk, filter_chunk, log_chunk, running_sums

Floats = NDArray[np.float64]


def cumulated(values: Floats, episodes: Episodes) -> Floats:
    """[r]: values[r, n] summed over agents and along each episode."""
    out = np.empty(len(episodes.rewards))
    running_sums(values, episodes.offsets, out)
    return out


def log_likelihood(episodes: Episodes, team: Team, threads: int | None = None) -> Floats:
    """[r]: log probability that `team` takes all actions so far, given its agents' observations."""
    layout = lay_out(episodes, max(team.nodes))
    tables = [tables_of(team, n) for n in range(len(team.agents))]
    with engine.serial_products():
        logs, _ = filtered(layout, tables, False, threads)
    return cumulated(logs, episodes)


def tables_of(team: Team, n: int) -> FilterTables:
    """The tables of a team's controller for the filter."""
    controller = team.controllers[n]
    z, symbols = controller.nodes, controller.observations
    initial = np.tile(controller.initial, (1 + symbols, 1))
    if controller.initial_given is not None:
        initial[1:] = controller.initial_given
    # copies, also of contiguous arrays: kernels are compiled once, for writable arrays
    move = np.array(controller.transition.transpose(1, 2, 0, 3).reshape(-1, z, z), order="C")
    return FilterTables(
        initial, np.array(controller.action.T, order="C"), move, np.array(move.transpose(0, 2, 1), order="C")
    )


Filtered = tuple[NDArray[np.floating], NDArray[np.floating]]  # alpha [slot, i], 1 / p [slot]
FilteredChunks = list[Any]  # [piece] Filtered or None; on a cluster: [shard] a future or None


def likelihoods(
    layout: Layout, tables: Sequence[FilterTables], keep: bool, threads: int | None = None
) -> tuple[Floats, FilteredChunks]:
    """Filter by threads or on a cluster: [r] log p(all actions so far), and the filtered chunks if `keep`."""
    if layout.shards is not None:
        return layout.shards.likelihoods(tables, keep)
    logs, chunks = filtered(layout, tables, keep, threads)
    return cumulated(logs, layout.episodes), chunks


def filtered(
    layout: Layout, tables: Sequence[FilterTables], keep: bool, threads: int | None = None
) -> tuple[Floats, list[Filtered | None]]:
    """Filter: log p(a_t | h_t) of every row and agent, and the filtered chunks if `keep`."""
    pieces, logs = layout.pieces, np.empty((len(layout.episodes.rewards), len(tables)))

    def piece(number: int) -> Filtered | None:
        n, c = pieces[number]
        alpha, inverse = filter_slots(layout.chunks[n][c], tables[n], layout.buffers)
        log_chunk(layout.chunks[n][c], inverse, n, logs)
        if keep:
            return alpha, inverse
        layout.buffers.give(alpha)
        return None

    return logs, engine.run(piece, len(pieces), threads)


def filter_slots(slots: Slots, tables: FilterTables, buffers: Buffers) -> Filtered:
    """Filter one chunk of one agent."""
    z, precision = tables.act.shape[1], tables.act.dtype
    alpha, inverse = buffers.take(len(slots.rows), z, precision), np.empty(len(slots.rows), precision)
    filter_chunk(slots, tables, alpha, inverse, np.empty((group_size(slots), z), precision))
    return alpha, inverse


def counted(
    layout: Layout,
    tables: Sequence[FilterTables],
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
    slots: Slots, tables: FilterTables, nu: NDArray[np.float64], filtered: Filtered | None, buffers: Buffers
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
