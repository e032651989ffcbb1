"""The update rules against the paper's integral, against each other, and at their extremes."""

import math
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import gammaln, ive

from headway.arrays import Array, keyed_rng
from headway.direction.updates import (
    PRINTED_LIMIT,
    RULES,
    DivergenceWarning,
    Rule,
    acute_slope,
    exact,
    exact_weight,
    kernel_concentration,
    printed,
    printed_2d,
    printed_weight,
    projected,
    sampled,
)
from headway.direction.vmf import Direction, concentration, log_partition, mean_length
from headway.errors import InvalidInput
from tests.direction.three_stage import mean_p_value, next_directions, pair

KAPPAS = st.floats(-6.0, 6.0).map(lambda e: 10.0**e)


def turn(
    d: int, degrees: float, kappa_t: float, kappa_hat: float, rule: Rule
) -> tuple[float, float]:
    """The rule's answer as (degrees from theta_t towards theta_hat, kappa)."""
    now = rule(*pair(d, degrees, kappa_t, kappa_hat))
    assert now is not None
    return math.degrees(math.atan2(now.theta[1], now.theta[0])), now.kappa


def naive_log_c(y: Array, d: int) -> Array:
    nu = 0.5 * d - 1.0
    return 0.5 * d * math.log(2.0 * math.pi) + np.log(ive(nu, y)) + y - nu * np.log(y)


def brute_force(d: int, degrees: float, kappa_t: float, kappa_hat: float) -> tuple[float, float]:
    """The mean of p(g) another way: polar about theta_hat, P by its slope on a fine grid."""
    alpha = np.linspace(0.0, math.pi, 40_001)
    z = np.maximum(kappa_t * np.sin(alpha), 1e-12)
    slope = np.exp(naive_log_c(z, d + 1) - naive_log_c(np.array(kappa_t), d)) * z / (2.0 * math.pi)
    steps = 0.5 * (slope[1:] + slope[:-1]) * alpha[1]
    P = np.concatenate([[0.0], np.cumsum(steps)])
    P = 0.5 + P[20_000] - P
    x, w = np.polynomial.legendre.leggauss(160)
    phi, w_phi = 0.5 * math.pi * (x + 1.0), 0.5 * math.pi * w
    psi, w_psi = (np.array([0.0, math.pi]), np.ones(2)) if d == 2 else (phi, w_phi)
    if d > 2:
        w_psi = w_psi * np.sin(psi) ** (d - 3)
    at = math.radians(degrees)
    cos = math.cos(at) * np.cos(phi)[:, None] + math.sin(at) * np.outer(np.sin(phi), np.cos(psi))
    log_c = naive_log_c(
        np.sqrt(kappa_t**2 + kappa_hat**2 + 2.0 * kappa_t * kappa_hat * np.cos(phi)), d
    )
    rows = w_phi * np.sin(phi) ** (d - 2) * np.exp(log_c - log_c.max())
    mass = rows[:, None] * w_psi * np.interp(np.arccos(np.clip(cos, -1.0, 1.0)), alpha, P)
    mass /= mass.sum()
    along = float(np.sum(mass * np.cos(phi)[:, None]))
    aside = float(np.sum(mass * np.outer(np.sin(phi), np.cos(psi))))
    R = math.hypot(along, aside)
    return degrees - math.degrees(math.atan2(aside, along)), concentration(R, d)


# exact ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("d", [1, 2, 3, 6, 20])
def test_exact_tends_to_printed_at_the_stated_order(d: int) -> None:
    for y in (0.2, 0.1, 0.05):
        kappa_t, kappa_hat = 0.6 * y, 0.8 * y
        ours, theirs = exact_weight(kappa_t, kappa_hat, d), printed_weight(kappa_t, kappa_hat, d)
        leading = 2.0 * y**4 / (d**2 * (d + 2) * (d + 4))
        assert (ours - theirs) / theirs == pytest.approx(leading, rel=y**2, abs=1e-15)


@given(st.integers(1, 100), KAPPAS, KAPPAS)
def test_exact_weight_is_bounded(d: int, kappa_t: float, kappa_hat: float) -> None:
    weight = exact_weight(kappa_t, kappa_hat, d)
    assert 0.0 <= weight <= min(kappa_t, kappa_hat)
    y = math.hypot(kappa_t, kappa_hat)
    wanted = kappa_hat * kappa_t * float(mean_length(y, d)) / y
    assert weight == pytest.approx(wanted, rel=1e-12)


def test_exact_numbers() -> None:
    wanted = {2: (23.15, 1.444), 3: (19.53, 1.334), 6: (12.86, 1.181)}
    for d, answer in wanted.items():
        assert turn(d, 60.0, 1.0, 2.0, exact) == pytest.approx(answer, abs=6e-3)


def test_exact_forgets_only_beyond_an_angle() -> None:
    k1 = exact_weight(2.0, 3.0, 3)
    edge = math.degrees(math.acos(-k1 / 4.0))
    assert turn(3, edge + 0.01, 2.0, 3.0, exact)[1] < 2.0 < turn(3, edge - 0.01, 2.0, 3.0, exact)[1]


def test_exact_grows_by_nearly_kappa_hat_a_step() -> None:
    past, belief = pair(2, 0.0, 1.0, 3.0)
    for _ in range(10):
        past = exact(past, belief)
    assert past.kappa == pytest.approx(24.0, abs=0.5)


# projected --------------------------------------------------------------------------------------


def test_projected_numbers() -> None:
    wanted = {2: (32.54, 1.081), 3: (31.66, 0.853), 6: (28.54, 0.550)}
    for d, answer in wanted.items():
        assert turn(d, 60.0, 1.0, 2.0, projected) == pytest.approx(answer, abs=6e-3)


@pytest.mark.parametrize("d", [2, 3, 6, 20])
@pytest.mark.parametrize(
    ("degrees", "kappa_t", "kappa_hat"),
    [
        (60.0, 1.0, 2.0),
        (0.0, 1.0, 2.0),
        (175.0, 1.0, 2.0),
        (90.0, 0.01, 0.3),
        (120.0, 50.0, 3.0),
        (10.0, 3.0, 50.0),
        (100.0, 200.0, 200.0),
        (150.0, 300.0, 5.0),
    ],
)
def test_projected_against_other_coordinates(
    d: int, degrees: float, kappa_t: float, kappa_hat: float
) -> None:
    angle, kappa = turn(d, degrees, kappa_t, kappa_hat, projected)
    wanted_angle, wanted_kappa = brute_force(d, degrees, kappa_t, kappa_hat)
    assert angle == pytest.approx(wanted_angle, abs=2e-3)
    assert kappa == pytest.approx(wanted_kappa, rel=1e-5)


@pytest.mark.parametrize("d", [2, 3, 6, 20])
def test_projected_has_the_mean_of_three_stage_draws(d: int) -> None:
    """Small version of tests/statistical: four tests at level 1e-4, on fixed seeds."""
    past, belief = pair(d, 60.0, 1.0, 2.0)
    G = next_directions(past, belief, 20_000, keyed_rng(11, d))
    found = projected(past, belief).mean()
    p = mean_p_value(G, found)
    assert p > 1e-4, f"p = {p:.2g}: mean of {len(G)} draws {G.mean(axis=0)}, projected {found}"


@pytest.mark.parametrize("d", [2, 3, 6, 10])
def test_projected_on_a_small_kappa(d: int) -> None:
    """kappa_t (a_d theta_t + A_d(kappa_hat) theta_hat), on both sides of the switch to it."""
    for kappa_t in (1e-12, 0.9e-7, 1.1e-7, 1e-5):
        past, belief = pair(d, 70.0, kappa_t, 4.0)
        now = projected(past, belief)
        pull = float(mean_length(4.0, d))
        limit = kappa_t * (acute_slope(d) * past.theta + pull * belief.theta)
        np.testing.assert_allclose(now.kappa * now.theta, limit, atol=2e-6 * kappa_t + kappa_t**2)


def test_acute_slope_numbers() -> None:
    assert [acute_slope(d) for d in (1, 2, 3, 6)] == pytest.approx(
        [1.0, 2.0 / math.pi, 0.5, 0.3395], abs=1e-4
    )


@pytest.mark.parametrize(("d", "threshold"), [(2, 0.78), (3, 1.8), (6, 6.4), (10, 15.0)])
def test_projected_grows_from_a_small_kappa_only_past_a_threshold(d: int, threshold: float) -> None:
    for kappa_hat, grows in ((0.97 * threshold, False), (1.03 * threshold, True)):
        assert (turn(d, 0.0, 1e-4, kappa_hat, projected)[1] > 1e-4) is grows


@pytest.mark.parametrize("d", [2, 3, 6])
def test_projected_limits_itself_and_forgets(d: int) -> None:
    past, belief = pair(d, 0.0, 1.0, 20.0)
    path = []
    for _ in range(60):
        past = projected(past, belief)
        path.append(past.kappa)
    assert path[-1] < 20.0
    assert path[-1] == pytest.approx(path[-2], rel=1e-6)
    _, against = pair(d, 180.0, 1.0, 20.0)
    assert projected(past, against).kappa < past.kappa


@pytest.mark.parametrize("d", [2, 3, 6, 50, 1000])
@pytest.mark.parametrize("degrees", [0.0, 1e-7, 1.0, 90.0, 179.0, 180.0])
def test_projected_at_the_extremes(d: int, degrees: float) -> None:
    values = [1e-300, 1e-9, 1e-3, 1.0, 1e3, 1e6, 1e9, 1e300]
    for kappa_t in values:
        for kappa_hat in values:
            past, belief = pair(d, degrees, kappa_t, kappa_hat)
            now = projected(past, belief)
            assert now.kappa <= 2.0 * min(kappa_t, 1e9)
            assert now.kappa > 0.0 or kappa_t < 1e-12 or degrees > 90.0
            # no further from theta_t than theta_hat is
            assert now.theta @ past.theta >= belief.theta @ past.theta - 1e-9


@pytest.mark.parametrize("kappa", [1e4, 1e6, 1e8])
def test_projected_of_two_sharp_ones_at_an_acute_angle(kappa: float) -> None:
    """The hemisphere cuts nothing and g is g* blurred: k_t k_hat / (k_t + k_hat), here k/2."""
    for d in (2, 6):
        angle, found = turn(d, 40.0, kappa, kappa, projected)
        assert angle == pytest.approx(40.0, abs=1e-6)
        assert found == pytest.approx(0.5 * kappa, rel=d / kappa + 1e-6)


@given(KAPPAS, st.floats(0.0, 1e4), st.booleans())
def test_projected_on_the_line_is_a_sum_of_two_terms(
    kappa_t: float, kappa_hat: float, same: bool
) -> None:
    past = Direction(np.array([1.0]), kappa_t)
    belief = Direction(np.array([1.0 if same else -1.0]), kappa_hat)
    now = projected(past, belief)
    signed = float(now.theta[0]) * now.kappa
    along = kappa_hat if same else -kappa_hat
    up = kappa_t + float(np.logaddexp(kappa_t + along, -kappa_t - along))
    down = -kappa_t + float(np.logaddexp(kappa_t - along, along - kappa_t))
    assert signed == pytest.approx(0.5 * (up - down), rel=1e-6, abs=1e-9)


# every rule -------------------------------------------------------------------------------------


def rotation(d: int, seed: int) -> Array:
    q, r = np.linalg.qr(keyed_rng(seed).standard_normal((d, d)))
    return np.asarray(q * np.sign(np.diag(r)))


@pytest.mark.parametrize("name", list(RULES))
@settings(max_examples=25, deadline=None)
@given(
    d=st.integers(2, 8),
    degrees=st.floats(0.0, 180.0),
    kappa_t=KAPPAS.filter(lambda k: k < 1e3),
    kappa_hat=KAPPAS.filter(lambda k: k < 1e3),
    seed=st.integers(0, 10**6),
)
def test_rules_turn_with_the_coordinates(
    name: str, d: int, degrees: float, kappa_t: float, kappa_hat: float, seed: int
) -> None:
    past, belief = pair(2 if name == "printed-2d" else d, degrees, kappa_t, kappa_hat)
    Q = rotation(past.d, seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DivergenceWarning)
        here = RULES[name](past, belief)
        there = RULES[name](
            Direction(Q @ past.theta, kappa_t), Direction(Q @ belief.theta, kappa_hat)
        )
    assert (here is None) == (there is None)
    if here is not None and there is not None:
        # rounding of the thetas is 1e-16 of the larger kappa
        scale = 1e-7 * (here.kappa + kappa_t) + 1e-12
        assert there.kappa == pytest.approx(here.kappa, abs=scale)
        np.testing.assert_allclose(
            there.kappa * there.theta, here.kappa * (Q @ here.theta), atol=scale
        )


@pytest.mark.parametrize("name", list(RULES))
def test_zero_is_absorbing_and_dimensions_must_agree(name: str) -> None:
    past, belief = pair(2, 40.0, 0.0, 5.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DivergenceWarning)
        now = RULES[name](past, belief)
    assert now is not None and now.kappa == 0.0
    np.testing.assert_array_equal(now.theta, past.theta)
    with pytest.raises(InvalidInput, match="has 2 coordinates and the belief 3"):
        RULES[name](past, Direction(np.eye(3)[0], 1.0))


def test_a_belief_of_kappa_zero() -> None:
    past, belief = pair(3, 40.0, 2.0, 0.0)
    assert exact(past, belief).kappa == pytest.approx(2.0)
    now = projected(past, belief)  # P(g.g_t >= 0) alone
    np.testing.assert_allclose(now.theta, past.theta, atol=1e-12)
    assert 0.0 < now.kappa < 2.0


# printed ----------------------------------------------------------------------------------------


def test_printed_is_the_papers_formula() -> None:
    past, belief = pair(3, 50.0, 1.5, 2.5)
    now = printed(past, belief)
    k1 = -2.5 * 1.5 * (-15.0 + 2.5**2 + 1.5**2) / 45.0
    assert now.kappa == pytest.approx(math.sqrt(k1**2 + 1.5**2))
    vector = k1 * belief.theta + 1.5 * past.theta
    np.testing.assert_allclose(now.theta, vector / np.linalg.norm(vector))


def test_printed_converges_to_the_edge_from_inside() -> None:
    past, belief = pair(6, 0.0, 1.0, 3.0)
    for _ in range(2000):
        past = printed(past, belief)
    assert past.kappa == pytest.approx(math.sqrt(6 * 8 - 9.0), abs=0.02)  # as 19 / steps


def test_printed_overflows_from_outside_and_stops_at_its_limit() -> None:
    past, belief = pair(2, 20.0, 1.0, 3.0)
    path = []
    for _ in range(16):
        with pytest.warns(DivergenceWarning, match="its kappa grows without limit"):
            past = printed(past, belief)
        path.append(past.kappa)
    assert path[-1] == PRINTED_LIMIT
    assert path == sorted(path)
    kappas, kappa = [], 1.0
    while math.isfinite(kappa) and kappa < 1e154:
        kappa = math.hypot(printed_weight(kappa, 3.0, 2), kappa)
        kappas.append(kappa)
    assert len(kappas) == 14


def test_printed_warns_once_under_pythons_own_filter() -> None:
    past, belief = pair(2, 20.0, 2.0, 3.0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        for _ in range(3):
            past = printed(past, belief)
    assert len(caught) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        printed(*pair(2, 20.0, 1.0, 1.0))


@given(KAPPAS, KAPPAS)
def test_printed_2d_is_real_only_where_printed_points_away(
    kappa_t: float, kappa_hat: float
) -> None:
    past, belief = pair(2, 50.0, kappa_t, kappa_hat)
    now = printed_2d(past, belief)
    excess = kappa_hat**2 + kappa_t**2 - 8.0
    assert (now is None) == (excess < 0.0)
    if now is not None:
        square = kappa_hat * kappa_t * (excess + 16.0 * kappa_t**2)
        assert now.kappa == pytest.approx(0.25 * math.sqrt(square))


def test_printed_2d_is_for_two_parameters() -> None:
    with pytest.raises(InvalidInput, match="is for 2 parameters, not 3"):
        printed_2d(*pair(3, 50.0, 1.0, 1.0))


# sampled ----------------------------------------------------------------------------------------


def test_sampled_keeps_the_acute_angles_and_reports_the_share() -> None:
    G = np.array([[1.0, 0.0], [0.6, 0.8], [0.0, 1.0], [-0.6, 0.8], [-1.0, 0.0]])
    density = sampled(np.array([1.0, 0.0]), G)
    np.testing.assert_array_equal(density.points, G[:2])
    assert density.share == 0.4


@pytest.mark.parametrize("d", [2, 3])
def test_sampled_is_normalised(d: int) -> None:
    G = Direction(np.eye(d)[0], 2.0).sample(200, keyed_rng(2, d))
    density = sampled(np.eye(d)[0], G)
    x, w = np.polynomial.legendre.leggauss(160)
    circle = 2.0 * math.pi * np.arange(240) / 240
    height, w = (x, w) if d == 3 else (np.zeros(1), np.ones(1))
    ring = np.sqrt(1.0 - height**2)[:, None]
    grid = np.stack(
        [ring * np.cos(circle), ring * np.sin(circle), height[:, None] + 0.0 * circle], axis=-1
    )[..., :d]
    mass = np.exp(density.log_pdf(grid.reshape(-1, d))).reshape(grid.shape[:-1])
    assert np.sum(w[:, None] * mass) * 2.0 * math.pi / 240 == pytest.approx(1.0, rel=1e-8)


@pytest.mark.parametrize("d", [1, 2, 5])
def test_sampled_gradient(d: int) -> None:
    rng = keyed_rng(4, d)
    density = sampled(np.eye(d)[0], Direction(np.eye(d)[0], 1.0).sample(50, rng))
    G = 0.9 * Direction(np.eye(d)[0], 1.0).sample(7, rng)  # inside the ball too
    value, gradient = density.log_density(G)
    assert value.shape == (7,) and gradient.shape == (7, d)
    assert np.all(value <= 0.0)
    for i in range(d):
        step = 1e-6 * np.eye(d)[i]
        slope = (density.log_density(G + step)[0] - density.log_density(G - step)[0]) / 2e-6
        np.testing.assert_allclose(gradient[:, i], slope, rtol=1e-6, atol=1e-7)


def test_sampled_without_an_acute_angle_is_neutral() -> None:
    for G in (np.empty((0, 3)), -np.eye(3)):
        density = sampled(np.array([0.6, 0.0, 0.8]), G)
        value, gradient = density.log_density(np.eye(3))
        assert density.share == 0.0
        assert not value.any() and not gradient.any()
        np.testing.assert_allclose(density.log_pdf(np.eye(3)), -math.log(4.0 * math.pi))


@pytest.mark.parametrize("d", [2, 3, 6, 20])
def test_kernel_is_the_one_of_least_asymptotic_error(d: int) -> None:
    """h^(d+3) = (d-1) / (n (4 pi)^((d-1)/2) int (laplacian of the vMF)^2), the integral by
    quadrature."""
    G = Direction(np.eye(d)[0], 6.0).sample(400, keyed_rng(6, d))
    R = float(np.linalg.norm(G.mean(axis=0)))
    kappa = concentration(max(R, acute_slope(d)), d)
    x, w = np.polynomial.legendre.leggauss(300)
    angle = 0.5 * math.pi * (x + 1.0)
    u = np.cos(angle)
    density = np.exp(kappa * u - float(log_partition(kappa, d)))
    laplacian = density * (kappa**2 * (1.0 - u * u) - (d - 1) * kappa * u)
    ring = math.log(2.0) + 0.5 * (d - 1) * math.log(math.pi) - float(gammaln(0.5 * (d - 1)))
    rough = math.exp(ring) * 0.5 * math.pi * np.sum(w * np.sin(angle) ** (d - 2) * laplacian**2)
    power = (d - 1) / (400 * (4.0 * math.pi) ** (0.5 * (d - 1)) * rough)
    assert kernel_concentration(G) == pytest.approx(power ** (-2.0 / (d + 3)), rel=1e-9)


def test_kernel_of_extreme_samples() -> None:
    for d in (1, 2, 6, 1000):
        alike = np.tile(np.eye(d)[0], (200, 1))
        assert 0.0 < kernel_concentration(alike) < 1e10
    clumps = np.array([[0.1, 1.0], [0.1, -1.0]] * 50) / math.hypot(0.1, 1.0)
    density = sampled(np.array([1.0, 0.0]), clumps)
    at = density.log_density(np.array([[1.0, 0.0], [0.0995, 0.995]]))[0]
    assert at[1] > at[0] + 1.0  # two clumps stay two
