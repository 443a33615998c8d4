"""Joint moves: proposals that change several agents together.

The posterior factorises over agents, so a sweep never finds a change that pays only if several agents make it. Such
changes are proposed for the best team and judged by the bound. The moves are those of `search`, without its ascents:

    graft     side paths of all agents along one of the best episodes of a joint exploration
    memory    a graft after a product with a memory or a split of nodes, which leave the behaviour unchanged
    scatter   the best of many small changes of one to three entries, half of the time with more memory
    moment    other actions of all agents at one time of a clock
    drop      one node less

A proposal is compared with the team on the same fresh episodes and accepted if the gain is significant and the bound

    kappa ln V + ln p(team)

rises. kappa is the number of episodes played so far, ln p(team) the log probability of its choices under the prior, and
the change of ln V is the gain in standard deviations of a return, as with exponential utilities (`learners.utility`).
"""

from typing import NamedTuple

import numpy as np

from decpomdp.core import Agent
from decpomdp.interaction.episode_player import draw_seed
from decpomdp.interaction.search.machines import Machine, Plan
from decpomdp.interaction.search.moves import drop, moment, mutant, race, settle, side_paths, with_memory
from decpomdp.interaction.search.players import Player
from decpomdp.interaction.search.sizes import Sizes
from decpomdp.interaction.search.trial import ReturnSums, trial
from decpomdp.kernels.machines import ROOT
from decpomdp.learners import Prior
from decpomdp.learners.posterior import Counts, updated

SHARES = {"graft": 0.5, "memory": 0.1, "scatter": 0.25, "moment": 0.05, "drop": 0.1}  # of the proposals
LOOKS = 3  # of a comparison, at most


class Compared(NamedTuple):
    """A proposal after its comparison with the best plan."""

    plan: Plan
    accepted: bool
    returns: ReturnSums  # of the better one


def proposed(player: Player, plan: Plan, sizes: Sizes, rng: np.random.Generator) -> Plan:
    """A joint move of a random kind, folded."""
    kind = str(rng.choice(list(SHARES), p=list(SHARES.values())))
    if kind == "moment":
        moved = moment(player, plan, sizes, rng)
    elif kind == "drop":
        moved = drop(player, plan, sizes, rng)
    else:
        more = kind == "memory" or (kind == "scatter" and rng.random() < 0.5)
        source = with_memory(plan, sizes, rng) if more else plan
        if kind == "scatter":
            options = [mutant(player, source, rng) for _ in range(sizes.mutants)]
        else:
            options = side_paths(player, source, sizes, rng)
        moved = race(player, options or [plan], sizes, draw_seed(rng))
    return settle(player, moved, sizes, rng)


def compared(
    player: Player, plan: Plan, other: Plan, prior: Prior, sizes: Sizes, evidence: float, seed: int
) -> Compared:
    """The plan or the proposal, whichever has the higher bound beyond noise."""
    result = trial(player, plan, other, sizes.stages._replace(looks=min(LOOKS, sizes.stages.looks)), seed)
    spread = max(result.old.deviation, 1e-9 * abs(result.old.mean), 1e-300)
    rise = (
        evidence * result.gain / spread + log_prior(other, player.agents, prior) - log_prior(plan, player.agents, prior)
    )
    accepted = result.accepted and rise > 0
    return Compared(other if accepted else plan, accepted, result.new if accepted else result.old)


def log_prior(plan: Plan, agents: tuple[Agent, ...], prior: Prior) -> float:
    """The log probability that the prior draws the choices of the plan."""
    return sum(_log_prior(machine, agent, prior) for machine, agent in zip(plan, agents, strict=True))


def _log_prior(machine: Machine, agent: Agent, prior: Prior) -> float:
    nodes, actions, symbols = machine.nodes, len(agent.actions), len(agent.observations)
    empty = Counts(np.zeros((symbols, nodes)), np.zeros((nodes, actions)), np.zeros((nodes, actions, symbols, nodes)))
    posterior = updated(agent, prior.priors(agent), empty)
    act, move = np.log(posterior.action.mean()), np.log(posterior.move.mean()).reshape(nodes, actions, symbols, nodes)
    order = np.arange(nodes)  # the start node is first under the prior
    order[[0, int(machine.move[ROOT, -1]) - 1]] = order[[int(machine.move[ROOT, -1]) - 1, 0]]
    own, to = machine.action[ROOT + 1 :], order[machine.move[ROOT + 1 :, :-1] - 1]
    rows = np.arange(nodes)
    return float(act[rows, own].sum() + move[rows[:, None], own[:, None], np.arange(symbols), to].sum())
