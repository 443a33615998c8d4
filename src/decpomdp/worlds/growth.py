"""One fit: splits add states and merges remove them, if the bound rises.

    a round   noisy copies of every state (of the one-state world at first)
              EM on a quarter of the data, EM on all of it            weak priors: initialisation
              VB                                                      priors chosen by evidence
              merges of disjoint pairs, and observations joint or per agent, if the bound rises
              the result is kept if the bound rose
    the end   two rounds without a sufficient gain

A fit whose states are tuples of the agents' own states has one round, in one stage (`tuples.py`). A fit whose states
remember cues (`cues.py`) begins with EM.

One step is one of these stages. Random numbers depend on the seed, the number of the fit and that of the round only.
"""

from typing import NamedTuple, cast

import numpy as np

from decpomdp.worlds.cues import with_cues
from decpomdp.worlds.data import Form, Records
from decpomdp.worlds.moves import BY_INPUT, BY_PART, BY_STATE, copies, merge_pairs, merged, one_state, other_form
from decpomdp.worlds.posterior import FixedPriors, Posterior, Tables, posterior_of, strong_prior, weak_prior
from decpomdp.worlds.product import own_records
from decpomdp.worlds.sweep import FEW, Sweeps
from decpomdp.worlds.tuples import tuple_fit

QUARTER, ON_QUARTER, QUARTER_STEPS = 0.25, 40, 15_000  # share; sweeps on it; steps of it below which it is left out
EM_SWEEPS, VB_SWEEPS, MERGE_SWEEPS, FORM_SWEEPS = 40, 15, 8, 6
PATIENT = 4  # factor of the number of sweeps with few states
TOLERANCE = 1e-4  # gain per step at which sweeps stop
LEAST = {False: 1e-4, True: 1e-3}  # gain of a round per step that is sufficient, by `Form.memory`
MERGES, FEWER = 5, 0.3  # tries of a round, at most; share of the pairs that is tried after a failure
SINGLE = 4  # pairs that are tried one by one, with few states
PATIENCE = 2  # rounds without a sufficient gain
STATES = (12, 2, 8, 4, 16, 3)  # of the first round of fit 0, 1, ...: alternately many (then merged) and few
COPIES, NOISE, STAY = 32, 0.5, 20.0  # of the first round with memory; `stay` of splits with memory
TUPLES, QUICK = -1, -3  # numbers of the fit that starts with tuples, and of the one on a part of the episodes
CUES = -10  # less 2 n: of the fit whose states remember a cue of agent n
MOST_OWN = 12  # states of a world of one agent
STRONG = 8  # states up to which EM has strong priors


class FitStart(NamedTuple):
    """Initialisation of a fit."""

    states: int
    noise: float
    tie: int
    stay: float
    strong: bool  # priors of EM with few states


def start_of(number: int, memory: bool) -> FitStart:
    """The start of fit `number` of a form."""
    if memory:
        return FitStart(COPIES, NOISE, BY_PART, STAY, False)
    states = STATES[number % len(STATES)]
    return (
        FitStart(states, 1.0, BY_STATE, 2.0 / states, True)
        if number % 2
        else FitStart(states, 1.4, BY_INPUT, 0.0, False)
    )


class Growth(NamedTuple):
    """A fit between two stages."""

    form: Form
    number: int  # of the fit in its form
    best: Posterior | None = None
    stage: str = "quarter"  # quarter, em, vb, merge
    round: int = 0
    tables: Tables | None = None  # probabilities (quarter, em) or counts (vb) of the trial
    trial: Posterior | None = None  # from `merge` on
    share: float = 1.0  # of the proposed pairs
    tries: int = 0
    failed: int = 0  # single pairs since the last merge
    fails: int = 0
    gain: float = np.inf  # of the last round, in nats
    over: bool = False


class Grower:
    """Fits to one set of records, in all forms."""

    def __init__(self, records: dict[Form, Records], seed: int, most: int, threads: int | None = None) -> None:
        self.seed, self.most, self.threads = seed, most, threads
        self.sweeps = {form: Sweeps(each, threads) for form, each in records.items()}

    def begin(self, memory: bool, number: int) -> Growth:
        """A new fit, with one group of observations per agent."""
        return Growth(Form(memory, False), number)

    def cued(self, best: Posterior, n: int) -> Growth:
        """A fit that starts with the states of `best`, divided by cues of agent n; over if these predict no better."""
        plain = self.sweeps[Form()]
        base = other_form(plain.records, best.mean()) if best.form.joint else best.mean()
        tables = with_cues(plain, base, n)
        return Growth(Form(), CUES - 2 * n, best, stage="em", tables=tables, over=tables is None)

    def step(self, fit: Growth) -> Growth:
        """One stage."""
        stages = {"quarter": self._quarter, "em": self._em, "vb": self._vb, "merge": self._merge}
        return stages[fit.stage](fit)

    def _quarter(self, fit: Growth) -> Growth:
        if fit.number == TUPLES:
            return self._tuples(fit)
        sweeps, start = self.sweeps[fit.form], start_of(fit.number, fit.form.memory)
        rng = np.random.default_rng([self.seed, int(fit.form.memory), abs(fit.number), fit.round])
        if fit.best is None:
            one = sweeps.vb(sweeps.expected(one_state(sweeps.records))[1], FORM_SWEEPS, TOLERANCE)
            fit = fit._replace(best=one)
            times = min(start.states, self.most)
            tables = copies(sweeps.records, one.mean(), times, rng, start.noise, start.tie, start.stay)
        else:
            tie, stay = (BY_PART, STAY) if fit.form.memory else (BY_INPUT, 0.0)
            tables = copies(sweeps.records, fit.best.mean(), 2, rng, NOISE, tie, stay)
        if sweeps.records.steps * QUARTER >= QUARTER_STEPS:
            part = Sweeps(sweeps.records.share(QUARTER), self.threads, sweeps.stop)
            prior = self._prior(fit, tables.states)
            counts = part.em(tables, prior, ON_QUARTER, 2 * TOLERANCE, prune=False)
            tables = posterior_of(part.records, counts, prior).mean()
        return fit._replace(stage="em", tables=tables)

    def _tuples(self, fit: Growth) -> Growth:
        """The one round of a fit whose states are tuples."""
        sweeps = self.sweeps[fit.form]
        one = sweeps.vb(sweeps.expected(one_state(sweeps.records))[1], FORM_SWEEPS, TOLERANCE)
        worlds = [self._own(sweeps, n) for n in range(len(sweeps.records.alphabet.agents))]
        best = tuple_fit(self.sweeps, worlds, self.seed, self.most) or one
        return Growth(best.form, fit.number, best, round=1, over=True)

    def _own(self, sweeps: Sweeps, n: int) -> Tables:
        """The world of agent n alone."""
        own = Grower({Form(): own_records(sweeps.records, n)}, self.seed, min(self.most, MOST_OWN), self.threads)
        own.sweeps[Form()].stop = sweeps.stop
        growth = own.begin(False, 0)
        while not growth.over:
            growth = own.step(growth)
        return cast(Posterior, growth.best).mean()

    def _em(self, fit: Growth) -> Growth:
        tables = cast(Tables, fit.tables)
        count = EM_SWEEPS * (PATIENT if tables.states <= FEW else 1)
        counts = self.sweeps[fit.form].em(tables, self._prior(fit, tables.states), count, TOLERANCE)
        return fit._replace(stage="vb", tables=counts)

    def _vb(self, fit: Growth) -> Growth:
        counts = cast(Tables, fit.tables)
        count = VB_SWEEPS * (PATIENT if counts.states <= FEW else 1)
        trial = self.sweeps[fit.form].vb(counts, count, TOLERANCE)
        return fit._replace(stage="merge", tables=None, trial=trial, share=1.0, tries=0, failed=0)

    def _merge(self, fit: Growth) -> Growth:
        sweeps, trial = self.sweeps[fit.form], cast(Posterior, fit.trial)
        pairs = merge_pairs(sweeps, trial, fit.failed) if trial.states > 1 and fit.tries < MERGES else []
        if not pairs:
            return self._judged(fit)
        pairs = pairs[: max(1, int(np.ceil(len(pairs) * fit.share)))]
        other = sweeps.vb(merged(trial.counts, pairs), MERGE_SWEEPS, TOLERANCE / 4)
        tries = fit.tries + 1 if other.states > FEW else fit.tries
        if other.bound > trial.bound:
            return fit._replace(trial=other, tries=tries, failed=0)
        if len(pairs) > 1:
            return fit._replace(share=fit.share * FEWER, tries=tries)
        if trial.states <= FEW and fit.failed + 1 < SINGLE:
            return fit._replace(failed=fit.failed + 1)
        return self._judged(fit)

    def _judged(self, fit: Growth) -> Growth:
        """Try the other form of observations, then end the round."""
        trial, before = cast(Posterior, fit.trial), cast(Posterior, fit.best)
        form = fit.form._replace(joint=not fit.form.joint)
        if form in self.sweeps:
            sweeps = self.sweeps[form]
            counts = sweeps.expected(other_form(sweeps.records, trial.mean()))[1]
            other = sweeps.vb(counts, FORM_SWEEPS, TOLERANCE)
            trial = other if other.bound > trial.bound else trial
        gain = trial.bound - before.bound
        least = LEAST[fit.form.memory] * trial.steps
        enough = gain > (min(1.0, least) if trial.states <= FEW else least)
        best, fails = trial if gain > 0 else before, 0 if enough else fit.fails + 1
        over = fails >= PATIENCE or best.states >= self.most
        return Growth(best.form, fit.number, best, round=fit.round + 1, fails=fails, gain=gain, over=over)

    def _prior(self, fit: Growth, states: int) -> FixedPriors:
        strong = start_of(fit.number, fit.form.memory).strong and states <= STRONG
        return strong_prior(self.sweeps[fit.form].records, states) if strong else weak_prior(fit.form)
