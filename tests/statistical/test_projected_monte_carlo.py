"""The rule `projected` beside three-stage Monte Carlo of the paper's integral.

12 tests at level 1e-4 each: with the seeds drawn afresh, one run in 800 would fail by chance.
"""

import pytest

from headway.arrays import keyed_rng
from headway.direction.updates import exact, projected
from tests.direction.three_stage import mean_p_value, next_directions, pair

LEVEL = 1e-4


@pytest.mark.statistical
@pytest.mark.parametrize("d", [2, 3, 6, 20])
@pytest.mark.parametrize(
    ("degrees", "kappa_t", "kappa_hat"), [(60.0, 1.0, 2.0), (120.0, 4.0, 9.0), (150.0, 30.0, 5.0)]
)
def test_projected_has_the_mean_of_the_draws(
    d: int, degrees: float, kappa_t: float, kappa_hat: float
) -> None:
    past, belief = pair(d, degrees, kappa_t, kappa_hat)
    G = next_directions(past, belief, 1_000_000, keyed_rng(0, d, int(degrees)))
    found = projected(past, belief).mean()
    p = mean_p_value(G, found)
    assert p > LEVEL, f"p = {p:.2g}: mean of {len(G)} draws {G.mean(axis=0)}, projected {found}"


@pytest.mark.statistical
@pytest.mark.parametrize("d", [2, 3, 6, 20])
def test_the_same_draws_refuse_the_rule_exact(d: int) -> None:
    past, belief = pair(d, 60.0, 1.0, 2.0)
    G = next_directions(past, belief, 1_000_000, keyed_rng(1, d))
    assert mean_p_value(G, exact(past, belief).mean()) < 1e-12
