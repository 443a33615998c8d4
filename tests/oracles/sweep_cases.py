"""Random controllers and episodes for the oracles of the sweep, and the comparison of what they say."""

import numpy as np

DISCOUNT, FLOOR = 0.9, -1.5


def agree(got, want, tolerance=1e-12):
    """Equal to rounding: relative and absolute 1e-12 unless the check itself is coarser."""
    np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance)


def differ(got, want, tolerance=1e-12):
    """The comparison above must notice."""
    np.testing.assert_raises(AssertionError, agree, got, want, tolerance)


def random_controller(rng, nodes=2, actions=2, seen=2, first=True, total=1.0):
    """Rows that sum to `total`."""
    return (
        rng.dirichlet(np.ones(nodes)),
        rng.dirichlet(np.ones(nodes), size=seen) if first else None,
        total * rng.dirichlet(np.ones(actions), size=nodes),
        total * rng.dirichlet(np.ones(nodes), size=(nodes, actions, seen)),
    )


def random_episodes(rng, lengths=(3, 1, 4), agents=2, actions=2, seen=2):
    """Every other episode shows nothing before the first action."""
    episodes = []
    for k, length in enumerate(lengths):
        observations = rng.integers(seen, size=(length, agents))
        observations[0] = -1 if k % 2 else observations[0]
        episodes.append(
            {
                "actions": rng.integers(actions, size=(length, agents)),
                "observations": observations,
                "behaviour": rng.uniform(0.2, 0.9, size=(length, agents)),
                "rewards": rng.uniform(-1, 2, size=length),
            }
        )
    return episodes
