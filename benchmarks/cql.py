"""Offline deep learning from logs, and by playing: conservative Q-learning (CQL) with a recurrent net.

    python benchmarks/cql.py log.parquet --problem dectiger           learn from a log, then play
    python benchmarks/cql.py --problem recycling --rounds 20          learn by playing, 100 more episodes each round

Needs torch (the CPU version is enough), which is no dependency: python -m venv peers && peers/bin/pip install . torch

All agents share one net, as is usual. Its inputs are the agent, its last observation and its last action (none at
first); a GRU is the memory. The agents' values are added (value decomposition, VDN: Sunehag et al. 2018), and the sum
follows the team's rewards by double Q-learning; with `mixed=False` every agent's value alone does (independent
Q-learning). The penalty of CQL (Kumar et al. 2020), the log of the summed exponentials less the value of the logged
action, has weight `alpha`; it is 0 when playing. The last step of a truncated episode has no next observation: only the
penalty counts there. Rewards are divided by their standard deviation. The team plays greedily; values are means of
played episodes.

`alpha` was chosen from 0.1 and 1 by true values on six logs of 1000 episodes that the comparison does not use (seed 9):
on Dec-Tiger with 30 % noise 1 has 14.3 +- 0.6 and 0.1 has -11.1; on no log is 1 worse by more than the noise. With 1,
mixed and independent learning have the same values on all six. 3000 updates in place of 1000 gain nothing (Box pushing
with 30 % noise 224.7 and 224.7; random logs of GridSmall 1.45 and 1.50, of Mars rovers 6.9 and 10.7).
"""

import argparse
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import one_hot

import decpomdp as dp

UPDATES, BATCH, WIDTH, RATE, FOLLOW = 1000, 32, 32, 3e-3, 0.02  # FOLLOW: of the target net, at every update
ALPHA = 1.0
PLAYED, TAIL = 5000, 60  # episodes and steps that a team is judged by
ROUND, HORIZON = 100, 20  # episodes of a round when playing, and their steps


class Net(nn.Module):
    """Q values of all agents' actions after each of their histories."""

    def __init__(self, agents: tuple[dp.Agent, ...]) -> None:
        super().__init__()
        actions = [len(agent.actions) for agent in agents]
        self.sizes = max(len(agent.observations) for agent in agents) + 1, max(actions) + 1
        self.register_buffer("who", torch.eye(len(agents)))
        self.register_buffer("absent", torch.arange(max(actions)) >= torch.tensor(actions)[:, None])  # [n, a]
        self.cell = nn.GRU(sum(self.sizes) + len(agents), WIDTH, batch_first=True)
        self.head = nn.Linear(WIDTH, max(actions))

    def forward(self, seen: Tensor, did: Tensor, memory: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Values [k, n, t, a] from last observations and actions [k, n, t], 0 for none, and the memory after them."""
        parts = [one_hot(part, size) for part, size in zip((seen, did), self.sizes, strict=True)]
        x = torch.cat([*parts, self.who[:, None, :].expand(*seen.shape, -1)], -1)
        out, memory = self.cell(x.flatten(0, 1), memory)
        q = self.head(out).unflatten(0, seen.shape[:2])
        return q.masked_fill(self.absent[:, None, :], -1e9), memory


class Batch(NamedTuple):
    """Episodes as tensors of equal length."""

    seen: Tensor  # [k, n, t] last observations; 0: none
    did: Tensor  # [k, n, t] last actions; 0: none
    actions: Tensor  # [k, n, t]
    rewards: Tensor  # [k, 1, t]
    real: Tensor  # [k, 1, t] 1: a step of the episode
    backed: Tensor  # [k, 1, t] 1: what follows is known
    onward: Tensor  # [k, 1, t] 1: the episode continues

    @classmethod
    def of(cls, data: dp.Episodes) -> "Batch":
        time, last = np.arange(data.lengths.max()), data.lengths[:, None] - 1  # [t], [k, 1]
        rows = data.offsets[:-1, None] + np.minimum(time, last)  # [k, t]
        seen, actions = (
            torch.tensor(part[rows].transpose(0, 2, 1).astype(int)) for part in (data.observations, data.actions)
        )
        onward, ended = time < last, np.asarray(data.terminated)[:, None] & (time == last)
        scaled = data.rewards[rows] / max(float(data.rewards.std()), 1e-9)
        did = torch.cat([torch.zeros_like(actions[..., :1]), actions[..., :-1] + 1], -1)
        floats = (torch.tensor(each)[:, None].float() for each in (scaled, time <= last, onward | ended, onward))
        return cls(seen + 1, did, actions, *floats)


def learned(
    data: dp.Episodes,
    seed: int = 0,
    alpha: float = ALPHA,
    updates: int = UPDATES,
    mixed: bool = True,
    net: Net | None = None,
) -> Net:
    """A net, or the given one after more updates."""
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    net, target = net or Net(data.agents), Net(data.agents)
    target.load_state_dict(net.state_dict())
    weights, followers = list(net.parameters()), list(target.parameters())
    optimiser, whole = torch.optim.Adam(weights, RATE), Batch.of(data)
    schedule = torch.optim.lr_scheduler.LinearLR(optimiser, 1.0, 0.1, updates)
    for _ in range(updates):
        chosen = torch.randint(data.count, (BATCH,))
        batch = Batch(*(part[chosen] for part in whole))
        q = net(batch.seen, batch.did)[0]
        own = q.gather(-1, batch.actions[..., None])[..., 0]  # [k, n, t]
        with torch.no_grad():
            best = target(batch.seen, batch.did)[0].gather(-1, q.argmax(-1, keepdim=True))[..., 0]
            ahead = torch.cat([best[..., 1:], torch.zeros_like(best[..., :1])], -1) * batch.onward
        penalty = (q.logsumexp(-1) - own).sum(1, keepdim=True)
        now, then = (part.sum(1, keepdim=True) if mixed else part for part in (own, ahead))
        errors = ((now - batch.rewards - data.discount * then) ** 2).sum(1, keepdim=True)
        loss = ((errors * batch.backed + alpha * penalty) * batch.real).sum() / batch.real.sum()
        optimiser.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(weights, 10.0)
        optimiser.step()
        schedule.step()
        with torch.no_grad():
            torch._foreach_lerp_(followers, weights, FOLLOW)
    return net


class Player:
    """The net as a policy of a batch of episodes; explores with a probability."""

    def __init__(self, net: Net, explore: float = 0.0, seed: int = 0) -> None:
        self.net, self.explore, self.rng = net, explore, np.random.default_rng(seed)
        self.memory: Tensor | None = None

    def act(self, seen: np.ndarray, did: np.ndarray) -> np.ndarray:
        """Actions [k, n] after observations and own actions [k, n]; -1: none."""
        with torch.no_grad():
            q, self.memory = self.net(*(torch.tensor(part[..., None] + 1) for part in (seen, did)), self.memory)
        actions = q[:, :, 0].argmax(-1).numpy()
        other = self.rng.random(did.shape) < self.explore
        counts = (~self.net.absent).sum(-1).numpy()  # [n]
        return np.where(other, self.rng.integers(0, counts, did.shape), actions)


def play(
    net: Net, simulator: dp.Simulator, episodes: int, horizon: int, seed: int, explore: float = 0.0
) -> dp.Episodes:
    """Episodes of the net."""
    player, shape = Player(net, explore, seed), (episodes, len(simulator.agents))
    first, did = simulator.reset(episodes, seed), np.full(shape, -1)
    seen = np.full(shape, -1) if first is None else np.asarray(first, int)
    steps, lengths, over = [], np.zeros(episodes, int), np.zeros(episodes, bool)
    for _ in range(horizon):
        now = player.act(seen, did)
        step = simulator.step(now)
        steps.append((seen, now, step.rewards))
        lengths += ~over
        over |= step.ended
        seen, did = np.asarray(step.observations, int), now
    played = np.arange(horizon) < lengths[:, None]  # [k, t]
    observations, actions, rewards = (np.stack(part, 1)[played] for part in zip(*steps, strict=True))
    offsets, unknown = np.concatenate([[0], lengths.cumsum()]), np.full(actions.shape, np.nan)
    return dp.Episodes(
        simulator.agents, offsets, observations, actions, unknown, rewards, simulator.discount, over, simulator.name
    )


def value(net: Net, simulator: dp.Simulator, seed: int = 0) -> tuple[float, float]:
    """Mean return of played episodes, and its standard error."""
    returns = play(net, simulator, PLAYED, TAIL, seed).returns()
    return float(returns.mean()), float(returns.std() / np.sqrt(PLAYED))


def by_playing(simulator: dp.Simulator, rounds: int, seed: int) -> Net:
    """Rounds of playing with less and less exploration, and learning from all episodes so far."""
    net, logs = Net(simulator.agents), []
    for turn in range(rounds):
        explore = max(0.05, 1.0 - turn / (0.5 * rounds))
        logs.append(play(net, simulator, ROUND, HORIZON, seed * 1000 + turn, explore))
        net = learned(dp.Episodes.concatenate(logs), seed + turn, 0.0, 200, net=net)
        mean, error = value(net, simulator, seed)
        print(f"{(turn + 1) * ROUND * HORIZON} steps: value {mean:.2f} +- {error:.2f}", flush=True)
    return net


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("log", nargs="?", help="a log; without one, it learns by playing")
    parser.add_argument("--problem", required=True, help="where to play")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--alpha", type=float, default=ALPHA)
    parser.add_argument("--updates", type=int, default=UPDATES)
    parser.add_argument("--independent", action="store_true", help="without value decomposition")
    parser.add_argument("--discount", type=float, help="of a log without one")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    if given.log is None:
        by_playing(dp.DenseSimulator(given.problem), given.rounds, given.seed)
        return
    data = dp.Episodes.load(given.log, given.discount)
    net = learned(data, given.seed, given.alpha, given.updates, not given.independent)
    mean, error = value(net, dp.DenseSimulator(given.problem), given.seed)
    print(f"value {mean:.2f} +- {error:.2f} ({PLAYED} played episodes)")


if __name__ == "__main__":
    main()
