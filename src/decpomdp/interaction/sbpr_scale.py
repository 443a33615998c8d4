"""How large the starts, rounds and tests of the loop are, given how many joint steps can be afforded.

The sizes in the settings are upper ends: they make a good team of a problem that plays millions of steps a second, and
would leave a simulator in Python, or a budget of a few thousand steps, without a single test. So they shrink, all of
them by the same rule, until finding the starts takes no more than a third of the steps and there is enough for some
rounds. What can be afforded is told by `sbpr_crowd_scale.affordable`; a model whose steps are not counted is played as
the settings have it.
"""

from dataclasses import replace

from decpomdp.interaction.sbpr_settings import SbprSettings

STARTING = 1 / 3  # of the steps, for finding starts
ROUNDS = 4  # that the other steps should be enough for
SMALLER = 0.8  # from one try to the next
SMALLEST = 1e-4  # share of the settings below which nothing is left to shrink
TEAMS = 3  # of the test after a round: the best so far, the new one, and its likeliest choices


def scaled(settings: SbprSettings, steps: float, learning: int, testing: int) -> SbprSettings:
    """The settings for about so many joint steps; `learning`, `testing`: steps of an episode of either kind.

    >>> scaled(SbprSettings(), 1e9, 29, 66) == SbprSettings()
    True
    >>> few = scaled(SbprSettings(), 60_000, 29, 66)
    >>> few.elites, few.batch, few.tests
    (1, 8, 28)
    """
    share, smaller = 1.0, settings
    while share > SMALLEST and not _fits(smaller, steps, learning, testing):
        share *= SMALLER
        smaller = _times(settings, share)
    return smaller


def _times(settings: SbprSettings, share: float) -> SbprSettings:
    def fewer(number: int, power: float, least: int) -> int:
        return min(number, max(least, round(number * share**power)))

    return replace(
        settings,
        batch=fewer(settings.batch, 0.5, 4),
        race=fewer(settings.race, 0.5, 4),
        round=fewer(settings.round, 0.5, 4),
        tests=fewer(settings.tests, 1.0, 8),
        elites=fewer(settings.elites, 1.0, 1),
        pool=fewer(settings.pool, 1.0, 2),
        replays=fewer(settings.replays, 0.5, 1),
        generations=fewer(settings.generations, 1.0, 0),
    )


def _fits(settings: SbprSettings, steps: float, learning: int, testing: int) -> bool:
    iterations = max(settings.race, settings.round) * settings.batch * learning
    a_round = iterations + TEAMS * settings.tests * testing
    return starting(settings, testing) <= STARTING * steps and ROUNDS * a_round <= (1 - STARTING) * steps


def starting(settings: SbprSettings, testing: int) -> int:
    """Joint steps that it takes to find the starts, beside the random episodes."""
    chains = 2 * settings.elites * len(settings.lengths)
    later = settings.pool + settings.replays * chains
    varied = settings.replays * settings.tests * max(settings.lengths)
    tests = _tested(settings, chains) + settings.generations * _tested(settings, later) + 2 * settings.tests
    return testing * tests + settings.generations * varied


def _tested(settings: SbprSettings, teams: int) -> int:
    """Episodes of a test of so many teams: all of them roughly, the better quarter well."""
    return teams * settings.batch + max(settings.pool, teams // 4) * max(1, settings.tests // 4)
