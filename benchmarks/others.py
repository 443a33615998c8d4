"""Other tools on the same problems: the rows of the README's comparison.

    python -m venv others && others/bin/pip install . paynt torch
    others/bin/python benchmarks/others.py paynt --time-limit 60
    others/bin/python benchmarks/others.py mappo --time-limit 120

paynt   PAYNT 0.5 reads the problem as a .dpomdp file and searches controllers of growing size; it knows the model
mappo   recurrent multi-agent PPO as in deep multi-agent libraries: a GRU of 32 units per agent, a critic that sees the
        state during training. It plays; its value is the mean of 4000 test episodes of the most probable actions

One line per problem and seed. CPU is enough.
"""

import argparse
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import decpomdp as dp

PROBLEMS = ["dectiger", "broadcast", "recycling", "boxpushing", "marsrovers"]
ENVIRONMENTS, STEPS, TEST, TEST_STEPS = 256, 40, 4000, 80
WIDTH, RATE, EPOCHS, CLIP, LAMBDA = 32, 2e-3, 4, 0.2, 0.95
ENTROPY = (0.05, 0.002)  # weight of the entropy at the beginning and at the end


def paynt(problem: str, seed: int, seconds: float) -> float:
    """The best value that PAYNT reports within the time limit."""
    with tempfile.TemporaryDirectory() as folder:
        dp.load(problem).save(Path(folder, "sketch.dpomdp"))
        command = [str(Path(sys.executable).with_name("paynt")), folder, "--sketch", "sketch.dpomdp", "--fsc-synthesis"]
        ended = subprocess.run([*command, "--timeout", f"{seconds:.0f}"], capture_output=True, text=True)
    values = re.findall(r"^optimum: (\S+)$", ended.stdout + ended.stderr, re.MULTILINE)
    return max(map(float, values), default=float("nan"))


class Environments:
    """Many copies of one problem, played together."""

    def __init__(self, model: dp.DecPOMDP, count: int, rng: np.random.Generator) -> None:
        self.model, self.count, self.rng = model, count, rng
        self.moves, self.signals = np.cumsum(model.transition, -1), np.cumsum(model.observation, -1)
        self.actions = [len(agent.actions) for agent in model.agents]
        self.observations = [len(agent.observations) for agent in model.agents]

    def reset(self) -> np.ndarray:
        """[k] first states."""
        self.state = self.rng.choice(len(self.model.states), self.count, p=self.model.start)
        return self.state

    def step(self, actions: list[np.ndarray]) -> tuple[list[np.ndarray], np.ndarray]:
        """[n][k] observations and [k] rewards after the actions [n][k]."""
        joint = np.ravel_multi_index(tuple(actions), self.actions)
        rewards = self.model.reward[joint, self.state]
        self.state = self._drawn(self.moves[joint, self.state])
        seen = self._drawn(self.signals[joint, self.state])
        return list(np.unravel_index(seen, self.observations)), rewards

    def _drawn(self, cumulated: np.ndarray) -> np.ndarray:
        below = self.rng.random((self.count, 1)) * cumulated[:, -1:] >= cumulated
        return below.sum(-1)


class Mappo:
    """Actors with a memory of their own, trained together with one critic."""

    def __init__(self, model: dp.DecPOMDP, seed: int) -> None:
        import torch

        self.torch, self.model = torch, model
        torch.manual_seed(seed)
        torch.set_num_threads(1)
        self.rng = np.random.default_rng(seed)
        nn = torch.nn
        self.inputs = [len(agent.observations) + len(agent.actions) + 1 for agent in model.agents]
        self.memories = nn.ModuleList(nn.GRU(size, WIDTH) for size in self.inputs)
        self.heads = nn.ModuleList(nn.Linear(WIDTH, len(agent.actions)) for agent in model.agents)
        wide = len(model.states) + WIDTH * len(model.agents)
        self.critic = nn.Sequential(nn.Linear(wide, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 1))
        modules = (self.memories, self.heads, self.critic)
        self.optimiser = torch.optim.Adam([p for module in modules for p in module.parameters()], RATE)
        self.scale = 1 / max(float(np.abs(model.reward).max()), 1e-9)

    def play(self, count: int, steps: int, greedy: bool = False) -> dict:
        """Episodes with inputs [n][t, k, i], actions [n][t, k], log probabilities, states [t, k] and rewards [t, k]."""
        torch, places = self.torch, Environments(self.model, count, self.rng)
        state = places.reset()
        inputs = [torch.zeros(steps, count, size) for size in self.inputs]
        for each in inputs:
            each[0, :, -1] = 1.0  # first step: nothing seen or done
        hidden = [torch.zeros(1, count, WIDTH) for _ in inputs]
        chosen = [torch.zeros(steps, count, dtype=torch.long) for _ in inputs]
        logged = [torch.zeros(steps, count) for _ in inputs]
        states, rewards = np.zeros((steps + 1, count), np.int64), np.zeros((steps, count))
        states[0] = state
        with torch.no_grad():
            for t in range(steps):
                for n, (memory, head) in enumerate(zip(self.memories, self.heads, strict=True)):
                    out, hidden[n] = memory(inputs[n][t : t + 1], hidden[n])
                    choice = torch.distributions.Categorical(logits=head(out[0]))
                    chosen[n][t] = choice.probs.argmax(-1) if greedy else choice.sample()
                    logged[n][t] = choice.log_prob(chosen[n][t])
                seen, rewards[t] = places.step([each[t].numpy() for each in chosen])
                states[t + 1] = places.state
                if t + 1 < steps:
                    for n, agent in enumerate(self.model.agents):
                        inputs[n][t + 1, np.arange(count), seen[n]] = 1.0
                        inputs[n][t + 1, torch.arange(count), len(agent.observations) + chosen[n][t]] = 1.0
        return {"inputs": inputs, "actions": chosen, "logged": logged, "states": states, "rewards": rewards}

    def update(self, batch: dict, progress: float) -> None:
        """Some epochs of clipped policy gradients with generalised advantages."""
        torch, discount = self.torch, self.model.discount
        rewards = torch.tensor(batch["rewards"] * self.scale, dtype=torch.float32)
        ones = torch.nn.functional.one_hot(torch.tensor(batch["states"]), len(self.model.states)).float()
        weight = ENTROPY[0] + progress * (ENTROPY[1] - ENTROPY[0])
        returns = advantages = None
        for _ in range(EPOCHS):
            memories = [memory(each)[0] for memory, each in zip(self.memories, batch["inputs"], strict=True)]
            known = torch.cat([ones[:-1], *(each.detach() for each in memories)], -1)
            values = self.critic(known).squeeze(-1)
            if returns is None:
                returns, advantages = self._targets(values.detach(), rewards, discount)
            loss = 0.5 * (values - returns).square().mean()
            for out, head, actions, logged in zip(memories, self.heads, batch["actions"], batch["logged"], strict=True):
                choice = torch.distributions.Categorical(logits=head(out))
                ratio = (choice.log_prob(actions) - logged).exp()
                clipped = ratio.clamp(1 - CLIP, 1 + CLIP)
                loss = loss - torch.minimum(ratio * advantages, clipped * advantages).mean()
                loss = loss - weight * choice.entropy().mean()
            self.optimiser.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(self.optimiser.param_groups[0]["params"], 1.0)
            self.optimiser.step()

    def _targets(self, values, rewards, discount: float) -> tuple:
        advantages, ahead = self.torch.zeros_like(values), 0.0
        for t in reversed(range(len(rewards))):
            after = values[t + 1] if t + 1 < len(rewards) else values[t]  # cut off: as good as now
            ahead = rewards[t] + discount * after - values[t] + discount * LAMBDA * ahead
            advantages[t] = ahead
        returns = advantages + values
        return returns, (advantages - advantages.mean()) / (advantages.std() + 1e-8)


def mappo(problem: str, seed: int, seconds: float) -> float:
    """The mean test return of the trained actors."""
    learner, began = Mappo(dp.load(problem), seed), time.process_time()
    while (used := time.process_time() - began) < seconds:
        learner.update(learner.play(ENVIRONMENTS, STEPS), used / seconds)
    rewards = learner.play(TEST, TEST_STEPS, greedy=True)["rewards"]
    return float((learner.model.discount ** np.arange(TEST_STEPS) @ rewards).mean())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tool", choices=["paynt", "mappo"])
    parser.add_argument("--problems", nargs="*", default=PROBLEMS)
    parser.add_argument("--seeds", nargs="*", type=int, default=[1])
    parser.add_argument("--time-limit", type=float, default=60.0, help="seconds; of mappo, processor seconds")
    given = parser.parse_args()
    learn = {"paynt": paynt, "mappo": mappo}[given.tool]
    for problem in given.problems:
        for seed in given.seeds:
            value = learn(problem, seed, given.time_limit)
            print(f"{given.tool} {problem} seed {seed}, {given.time_limit:g} s: {value:.4f}", flush=True)


if __name__ == "__main__":
    main()
