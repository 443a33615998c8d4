"""Episodes -> several fitted worlds: restarts of both forms, an over-complete world, and a choice by held-out episodes.

    fits          a quick one on the first of many episodes; one whose states are tuples with a part per agent;
                  one with memory and a plain one, alternating; one for every agent with states that remember its cues;
                  then restarts of the form that predicts held-out episodes better
    over-complete the best fit with more copies of its states, not merged, in case it has too few states
    refits        the worlds that predict held-out episodes about as well as the best one, on all episodes

Within a form the best bound wins; between forms the likelihood of held-out episodes decides if the difference is clear,
otherwise the bound. One step is one stage of a fit; the state is plain data.
"""

from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from decpomdp.core import Episodes, Row
from decpomdp.worlds.calibration import trusted
from decpomdp.worlds.data import Alphabet, Form, Records, alphabet_of, records_of
from decpomdp.worlds.growth import QUICK, TUPLES, Grower, Growth, start_of
from decpomdp.worlds.moves import BY_INPUT, BY_PART, copies
from decpomdp.worlds.posterior import Floats, Posterior, Tables, weak_prior
from decpomdp.worlds.sweep import NEVER, Sweeps

HELD_OUT, MOST_HELD_OUT, FEWEST = 0.15, 1000, 20  # share and most of held-out episodes; fewest episodes to hold out any
RESTARTS, RESTART_WORK = (2, 10), 8e5  # fits of the leading form, at least and at most; limit of fits x steps x states
SAME, NAT = 3, 1.0  # SAME fits within NAT nats of the best bound are enough
QUICK_STEPS = 6000  # of the episodes of the quick fit; logs of fewer than twice as many have none
FIRST_ROUNDS = {False: 4, True: 1}  # by `Form.memory`: a fit is not given up before this number of rounds
MORE_ROUNDS = {False: 3.0, True: 0.3}  # it is given up if this number of gains like the last would not suffice
CLEAR = 2.0  # standard errors of a difference between held-out likelihoods that settles the form
ADMITTED = 2.0  # standard errors within which a world is admitted together with the best one
LARGEST = 3e7  # numbers in the transitions of a world with memory
OVER_EM, OVER_VB, REFIT, LIKELIEST = 100, 20, 12, 20  # sweeps
OVER_COMPLETE, CHEAP = 3, 1e6  # over-complete worlds; steps x states up to which there is more than one
RESAMPLED = 1000  # random weights of held-out episodes
ALMOST = 1e-3  # weight of the prior of a row in the likeliest world
GROW, OVER, REFITS, DONE = "grow", "over-complete", "refit", "done"  # phases


class Fitted(NamedTuple):
    """A finished fit."""

    posterior: Posterior
    heldout: NDArray[np.float64]  # [k] log likelihood of every held-out episode
    over_complete: bool = False
    extra: bool = False  # the quick fit, the one with tuples, or one with cues


class Fits(NamedTuple):
    """The state between two steps."""

    phase: str = GROW
    growth: Growth | None = None
    paused: Growth | None = None  # the first fit of the other form, between its rounds
    finished: tuple[Fitted, ...] = ()
    refitted: tuple[Posterior, ...] = ()  # on all episodes; the best first
    hurried: bool = False  # fits were left out or cut short for lack of time


class Worlds:
    """Fits worlds to episodes."""

    def __init__(self, episodes: Episodes, seed: int, most: int, threads: int | None = None) -> None:
        self.episodes, self.seed, self.most, self.threads = episodes, seed, most, threads
        self.alphabet: Alphabet = alphabet_of(episodes)
        order = np.random.default_rng([seed, episodes.count]).permutation(episodes.count)
        held = min(MOST_HELD_OUT, int(HELD_OUT * episodes.count)) if episodes.count >= FEWEST else 0
        self.held, self.rest = np.sort(order[:held]), order[held:]
        self.stop = NEVER
        joint = len(episodes.agents) > 1
        self.forms = [
            Form(m, j) for m in (False, True) for j in (False, True) if (joint or not j) and (not m or self._small)
        ]

    @property
    def _small(self) -> bool:
        """Whether a world with memory is small enough, and has more than one observation to remember."""
        memories = self.alphabet.memories(Form(memory=True))
        return memories > 2 and memories * self.alphabet.joint_actions * 32**2 <= LARGEST

    @cached_property
    def grower(self) -> Grower:
        """Fits to all episodes but the held-out ones."""
        records = {form: self.records(form, self.rest) for form in self.forms}
        return Grower(records, self.seed, self.most, self.threads)

    @cached_property
    def starter(self) -> Grower | None:
        """The quick fit, on the first episodes; None: there are few anyway."""
        steps = int(self.episodes.lengths[self.rest].sum())
        if steps < 2 * QUICK_STEPS:
            return None
        records = {form: self.records(form, self.rest) for form in self.forms if not form.memory}
        parts = {form: each.share(QUICK_STEPS / steps) for form, each in records.items()}
        return Grower(parts, self.seed, self.most, self.threads)

    def records(self, form: Form, chosen: NDArray[np.int64] | None = None) -> Records:
        return records_of(self.episodes, self.alphabet, form, chosen)

    def init(self) -> Fits:
        """Before the first fit."""
        return Fits()

    def step(self, state: Fits, hurry: bool, stop: NDArray[np.int64] = NEVER) -> tuple[Fits, Row | None]:
        """One stage; `hurry`: start nothing optional. Raises `Cut` as soon as the flag `stop` is set."""
        self.stop = stop
        for grower in filter(None, (self.grower, self.starter)):
            for sweeps in grower.sweeps.values():
                sweeps.stop = stop
        return {GROW: self._grow, OVER: self._over, REFITS: self._refit}[state.phase](state, hurry)

    # ---- fits ----

    def _grow(self, state: Fits, hurry: bool) -> tuple[Fits, Row | None]:
        fresh = state.growth is None and state.paused is None
        growth = state.growth or state.paused or self._next(state)
        if growth is None or (hurry and state.finished and fresh):
            return state._replace(phase=OVER, hurried=state.hurried or growth is not None), None
        if state.growth is None:
            state = state._replace(paused=None)
        grower = self.starter if growth.number == QUICK and self.starter else self.grower
        after = growth if growth.over or self._given_up(state, growth, hurry) else grower.step(growth)
        if after.best is not None and (after.over or self._given_up(state, after, hurry)):
            cut = hurry and not after.over
            best = after.best
            if after.number == QUICK:
                best = self._refitted(best, self.grower.sweeps[best.form].records)
            state = self._finished(state, best, extra=after.number < 0)
            state = state._replace(growth=None, hurried=state.hurried or cut)
            return state, self.row(state, state.finished[-1])
        other = (state.paused or self._other(state, after)) if after.number == 0 else None
        if after.stage == "quarter" and other is not None and self._work(other) < self._work(after):
            return state._replace(growth=other, paused=after), None
        return state._replace(growth=after), None

    def _work(self, growth: Growth) -> float:
        """Numbers in the transitions of the next round."""
        states = start_of(growth.number, growth.form.memory).states if growth.best is None else 2 * growth.best.states
        return self.grower.sweeps[growth.form].records.inputs * states**2

    def _other(self, state: Fits, growth: Growth) -> Growth | None:
        """The first fit of the other form, if it has not started: of first fits, the cheaper round is next."""
        memory = not growth.form.memory
        begun = any(fit.posterior.form.memory == memory and not fit.extra for fit in state.finished)
        exists = any(form.memory == memory for form in self.forms)
        return self.grower.begin(memory, 0) if exists and not begun else None

    def _given_up(self, state: Fits, growth: Growth, hurry: bool) -> bool:
        """Whether a fit ends between two rounds: for lack of time, or because it would not reach the other bounds."""
        if growth.stage != "quarter" or growth.round == 0:
            return False
        return hurry or self._hopeless(state, growth)

    def _hopeless(self, state: Fits, growth: Growth) -> bool:
        """Whether a few more rounds like the last would not reach the bound of the other form or of the tuples."""
        memory = growth.form.memory
        others = [fit.posterior for fit in state.finished if fit.extra or fit.posterior.form.memory != memory]
        others += [state.paused.best] if state.paused is not None and state.paused.best is not None else []
        bounds = [each.bound for each in others]
        best = growth.best
        if not bounds or best is None or growth.round < FIRST_ROUNDS[memory]:
            return False
        return best.bound + MORE_ROUNDS[memory] * max(growth.gain, 0.0) < max(bounds)

    def _next(self, state: Fits) -> Growth | None:
        """The next fit; None: there are enough."""
        if not state.finished and self.starter is not None:
            return self.grower.begin(False, QUICK)
        if len(state.finished) == (self.starter is not None) and len(self.episodes.agents) > 1:
            return self.grower.begin(False, TUPLES)
        done = [fit.posterior.form.memory for fit in state.finished if not fit.extra]
        for memory in (True, False):
            if memory not in done and any(form.memory == memory for form in self.forms):
                return self.grower.begin(memory, 0)
        agents = len(self.episodes.agents)
        cued = sum(fit.extra for fit in state.finished) - (self.starter is not None) - (agents > 1)
        if cued < agents:
            plain = [fit.posterior for fit in state.finished if not fit.posterior.form.memory]
            return self.grower.cued(max(plain, key=lambda posterior: posterior.bound), cued)
        best = self.best(state)
        leader = best.posterior.form.memory
        if len(set(done)) > 1:  # both have a chance: the one with fewer fits
            other = max(
                (f for f in state.finished if f.posterior.form.memory != leader), key=lambda f: f.posterior.bound
            )
            if not clearly_better(best.heldout, other.heldout, CLEAR):
                leader = done.count(True) < done.count(False)
        own = [f.posterior.bound for f in state.finished if f.posterior.form.memory == leader and not f.extra]
        own.sort(reverse=True)
        work = self.grower.sweeps[best.posterior.form].records.steps * best.posterior.states
        enough = len(own) >= np.clip(RESTART_WORK / work, *RESTARTS) or (
            len(own) >= SAME and own[0] - own[SAME - 1] < NAT
        )
        return None if enough else self.grower.begin(leader, done.count(leader))

    def _finished(self, state: Fits, posterior: Posterior, over_complete: bool = False, extra: bool = False) -> Fits:
        sweeps = Sweeps(self.records(posterior.form, self.held), self.threads, self.stop)
        heldout = sweeps.logs(posterior.mean()) if len(self.held) else np.zeros(0)
        return state._replace(finished=(*state.finished, Fitted(posterior, heldout, over_complete, extra)))

    def best(self, state: Fits) -> Fitted:
        """The fit with the best bound, or of those that are clearly better on held-out episodes, if there are any."""
        own = sorted((fit for fit in state.finished if not fit.over_complete), key=lambda fit: -fit.posterior.bound)
        best = own[0]
        for fit in own[1:] if len(self.held) else []:
            if clearly_better(fit.heldout, best.heldout, CLEAR):
                best = fit
        return best

    def _over(self, state: Fits, hurry: bool) -> tuple[Fits, Row | None]:
        """More copies of every state of the best fit, without merges."""
        best, made = self.best(state).posterior, sum(fit.over_complete for fit in state.finished)
        sweeps, memory = self.grower.sweeps[best.form], best.form.memory
        wanted = OVER_COMPLETE if sweeps.records.steps * best.states <= CHEAP else 1
        if hurry or made >= wanted or not len(self.held):
            cut = made < wanted and len(self.held) > 0
            return state._replace(phase=REFITS, hurried=state.hurried or cut), None
        rng = np.random.default_rng([self.seed, 2, best.states, made])
        times = 4 if best.states <= 4 else 2
        tables = copies(sweeps.records, best.mean(), times, rng, 0.5, BY_PART if memory else BY_INPUT, 20.0 * memory)
        counts = sweeps.em(tables, weak_prior(best.form), OVER_EM, 2e-5)
        state = self._finished(state, sweeps.vb(counts, OVER_VB, 2e-5), over_complete=True)
        return state, self.row(state, state.finished[-1])

    # ---- all episodes ----

    def admitted(self, state: Fits) -> list[Fitted]:
        """The best world; then others that predict held-out episodes about equally well, over-complete ones first."""
        result = [self.best(state)]
        for fit in sorted(state.finished, key=_admission_order):
            new = all(abs(fit.posterior.bound - each.posterior.bound) > NAT for each in result)
            if new and not clearly_better(result[0].heldout, fit.heldout, ADMITTED):
                result.append(fit)
        return result

    def weights(self, state: Fits) -> Floats:
        """[w]: the probability of every refitted world; sums to one.

        Its log odds are the bound plus the log likelihood of held-out episodes, which are weighted at random many times
        (Bayesian bootstrap: pseudo-BMA+, Yao et al. 2018). Over-complete worlds have the bound of the best one: theirs
        is low by design.
        """
        worlds = max(1, len(state.refitted))
        if worlds == 1 or not len(self.held):
            return np.full(worlds, 1.0 / worlds)
        fits = self.admitted(state)[:worlds]
        logs = np.array([fit.heldout for fit in fits])  # [w, k]
        bounds = np.array([(fits[0] if fit.over_complete else fit).posterior.bound for fit in fits])
        shares = np.random.default_rng(self.seed).dirichlet(np.ones(logs.shape[1]), RESAMPLED)  # [b, k]
        totals = logs.shape[1] * shares @ logs.T + bounds  # [b, w]
        odds = np.exp(totals - totals.max(1, keepdims=True))
        return (odds / odds.sum(1, keepdims=True)).mean(0)

    def _refit(self, state: Fits, hurry: bool) -> tuple[Fits, Row | None]:
        todo = self.admitted(state)[: 1 if hurry else 3]
        if len(state.refitted) >= len(todo):
            return state._replace(phase=DONE), None
        best, fit = todo[0].posterior, todo[len(state.refitted)]
        posterior = fit.posterior
        if len(self.held):
            sure = state.refitted[0].trusted if state.refitted else trusted(best, self.records(best.form, self.held))
            # copies share the visits of a state: in an over-complete world, few visits do not mean few data
            posterior = self._refitted(posterior, self.records(posterior.form))
            posterior = posterior._replace(trusted=sure or fit.over_complete)
        return state._replace(refitted=(*state.refitted, posterior)), None

    def bootstrap(self, posterior: Posterior, number: int) -> Posterior:
        """The world refitted to episodes that are drawn with replacement."""
        rng = np.random.default_rng([self.seed, 3, number])
        drawn = rng.integers(0, self.episodes.count, self.episodes.count)
        return self._refitted(posterior, self.records(posterior.form, drawn))._replace(trusted=posterior.trusted)

    def likeliest(self, posterior: Posterior) -> Tables:
        """The world after sweeps of EM almost without priors, which removes their shrinkage."""
        sweeps, tables = Sweeps(self.records(posterior.form), self.threads, self.stop), posterior.mean()

        def row(counts: Floats) -> Floats:
            counts = counts + ALMOST / counts.shape[-1]
            return counts / counts.sum(-1, keepdims=True)

        for _ in range(LIKELIEST):
            tables = sweeps.expected(tables)[1].mapped(row)
        return tables

    def _refitted(self, posterior: Posterior, records: Records) -> Posterior:
        sweeps = Sweeps(records, self.threads, self.stop)
        return sweeps.vb(sweeps.expected(posterior.mean())[1], REFIT, 2e-5)

    def row(self, state: Fits, fit: Fitted) -> Row:
        """A row of the trace."""
        steps = int(self.episodes.lengths[self.held].sum()) if len(self.held) else 0
        return {
            "fit": len(state.finished),
            "memory": int(fit.posterior.form.memory),
            "joint": int(fit.posterior.form.joint),
            "states": fit.posterior.states,
            "bound": fit.posterior.bound / fit.posterior.steps,
            "heldout": float(fit.heldout.sum()) / steps if steps else None,
        }


def _admission_order(fit: Fitted) -> tuple[bool, float]:
    """Over-complete worlds first; then the likeliest, by the bound and held-out episodes."""
    likelihood = float(fit.heldout.sum())
    return not fit.over_complete, -(likelihood if fit.over_complete else likelihood + fit.posterior.bound)


def clearly_better(one: Floats, other: Floats, errors: float) -> bool:
    """Whether the mean difference of `one` and `other` is above `errors` standard errors."""
    if len(one) < 2:
        return True
    difference = one - other
    return float(difference.mean()) > errors * float(difference.std(ddof=1)) / len(difference) ** 0.5
