"""A stirred tank reactor under PID control: what an hour of a reactor's tuning costs.

A -> B -> C, both exothermic, in a tank of 100 litres with water in cooling coils. B is sold, C is
waste. Too cold, and A leaves unused; too hot, and B burns on to C, or the tank runs away: with few
coils the working point is unstable, and only the controller holds it. The run starts full of cold
feed (which ignites), then the feed's strength, temperature and rate and the cooling water change.
The design is the set point, the three PID numbers, the number of coils, and whether one controller
moves the valve ("single") or asks a second, faster one for a coil temperature ("cascade").

States: a, b (mol/l); t, m, j (K): tank, thermometer, coil; v: valve in [0, 1]; i: integral part.
Rates follow Seborg, Edgar, Mellichamp: Process Dynamics and Control, the exothermic CSTR.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.integrate import solve_ivp, trapezoid

VOLUME = 100.0  # l
HEAT_CAPACITY = 239.0  # J/(l K), of what is in the tank
WATER_CAPACITY = 4180.0  # J/(l K)
HEAT_AB, HEAT_BC = 30_000.0, 24_000.0  # J/mol set free
COIL_CONDUCTANCE = 11_000.0  # J/(min K), one coil
COIL_WATER = 3.0  # l, one coil: more coils cool better but answer more slowly
VALVE_FLOW = 110.0  # l/min, wide open
VALVE_LAG, THERMOMETER_LAG = 0.08, 0.12  # min
RANGE_LOW, RANGE_SPAN = 300.0, 100.0  # K, what the thermometer shows as 0 to 100 %
RELIEF = 405.0  # K: the relief valve opens, the batch is lost
HOURS = 3.0
SAMPLES = 1801  # of the trajectory, one in 6 s

PRICE = 0.15  # EUR/mol of B
WATER_PRICE = 0.02  # EUR/l
COIL_PRICE = 5.0  # EUR/h, one coil: depreciation and the stirring that its drag takes
VALVE_PRICE = 0.5  # EUR for a travel from shut to open
TOLERANCE = 1.5  # K off the set point: beyond it B is sold at half its price


class Runaway(RuntimeError):
    """The tank grew so hot that the relief valve opened."""


@dataclass(frozen=True, slots=True)
class Design:
    """What the engineer may choose."""

    set_point: float  # K
    gain: float  # percent of output per percent of the thermometer's range
    integral_time: float  # min
    derivative_time: float  # min
    coils: int
    structure: str  # "single" or "cascade"


@dataclass(frozen=True, slots=True)
class Losses:
    """Where the money goes, in EUR/h, against a reactor that turned all of A into B."""

    unused: float  # A that left as A
    burnt: float  # B that went on to C
    off_spec: float  # B sold at half its price
    water: float
    coils: float
    valve: float

    @property
    def total(self) -> float:
        """All of them together."""
        return self.unused + self.burnt + self.off_spec + self.water + self.coils + self.valve


def _step(t: float, start: float) -> float:
    """0 before `start`, 1 after it, over about half a minute (t, start in minutes)."""
    return 0.5 * (1.0 + math.tanh(4.0 * (t - start)))


def _feed(t: float) -> tuple[float, float, float, float]:
    """Feed rate (l/min), strength (mol/l) and temperature (K), water temperature (K)."""
    rate = 100.0 + 12.0 * _step(t, 45.0) - 22.0 * _step(t, 135.0)
    strength = 1.0 + 0.10 * _step(t, 65.0) - 0.15 * _step(t, 110.0)
    temperature = 330.0 + 3.0 * math.sin(2 * math.pi * t / 17.0) + 4.0 * _step(t, 90.0)
    return rate, strength, temperature, 288.0 + 4.0 * _step(t, 155.0)


def _clip(x: float, low: float, high: float) -> float:
    return low if x < low else high if x > high else x


def _valve_demand(
    design: Design, m: float, m_rate: float, j: float, i: float
) -> tuple[float, float]:
    """The demanded opening in [0, 1], and by how much it was cut (for the anti-windup)."""
    error = (m - design.set_point) / RANGE_SPAN
    wanted = design.gain * (error + design.derivative_time * m_rate / RANGE_SPAN) + i
    if design.structure == "single":
        opening = _clip(wanted, 0.0, 1.0)
        return opening, opening - wanted
    # the outer controller asks for a coil temperature between 290 and 360 K, the inner one, a
    # fast proportional controller, opens the valve when the coil is warmer than asked
    share = _clip(wanted, 0.0, 1.0)
    asked = 360.0 - 70.0 * share
    return _clip(0.3 + 0.05 * (j - asked), 0.0, 1.0), share - wanted


def _rates(minute: float, state: np.ndarray, design: Design) -> list[float]:
    a, b, t, m, j, v, i = state.tolist()
    rate, strength, feed_t, water_t = _feed(minute)
    k_ab = math.exp(8750.0 * (1 / 350.0 - 1 / t))  # 1/min, 1 at 350 K
    k_bc = 0.05 * math.exp(12_000.0 * (1 / 350.0 - 1 / t))
    exchange = COIL_CONDUCTANCE * design.coils * (t - j)  # J/min
    heat = VOLUME * (HEAT_AB * k_ab * a + HEAT_BC * k_bc * b)
    m_rate = (t - m) / THERMOMETER_LAG
    demand, cut = _valve_demand(design, m, m_rate, j, i)
    error = (m - design.set_point) / RANGE_SPAN
    return [
        rate / VOLUME * (strength - a) - k_ab * a,
        -rate / VOLUME * b + k_ab * a - k_bc * b,
        rate / VOLUME * (feed_t - t) + (heat - exchange) / (VOLUME * HEAT_CAPACITY),
        m_rate,
        (VALVE_FLOW * v * (water_t - j) + exchange / WATER_CAPACITY) / (COIL_WATER * design.coils),
        (demand - v) / VALVE_LAG,
        (design.gain * error + 2.0 * cut) / design.integral_time,
    ]


def _too_hot(minute: float, state: np.ndarray, design: Design) -> float:
    return float(RELIEF - state[2])


_too_hot.terminal = True  # type: ignore[attr-defined]  # how solve_ivp is told to stop there


def simulate(design: Design) -> tuple[np.ndarray, np.ndarray]:
    """Minutes (n,) and states (7, n) of one run; raises `Runaway` when the tank gets too hot."""
    start = [0.4, 0.0, 330.0, 330.0, 320.0, 0.0, 0.0]
    minutes = np.linspace(0.0, 60.0 * HOURS, SAMPLES)
    solution = solve_ivp(
        _rates,
        (0.0, 60.0 * HOURS),
        start,
        method="LSODA",
        t_eval=minutes,
        events=_too_hot,
        args=(design,),
        rtol=1e-5,
        atol=1e-7,
        max_step=2.0,  # so that no disturbance is stepped over
    )
    if not solution.success:
        raise RuntimeError(f"the solver gave up: {solution.message}")
    if solution.t_events[0].size:
        raise Runaway(f"runaway: {RELIEF:.0f} K after {solution.t_events[0][0]:.1f} min")
    return solution.t, solution.y


def losses(design: Design) -> Losses:
    """What the design costs, hour by hour, over the run."""
    minutes, (a, b, t, _, _, v, _) = simulate(design)
    rate, strength, *_ = np.array([_feed(x) for x in minutes]).T
    off = 1 / (1 + np.exp(-(np.abs(t - design.set_point) - TOLERANCE) / 0.1))  # share off the mark

    def per_hour(flow: np.ndarray) -> float:
        return float(trapezoid(flow, minutes)) / HOURS

    fed = per_hour(rate * strength)
    left = per_hour(rate * a)
    sold = per_hour(rate * b)
    return Losses(
        unused=PRICE * left,
        burnt=PRICE * (fed - left - sold),
        off_spec=0.5 * PRICE * per_hour(rate * b * off),
        water=WATER_PRICE * per_hour(VALVE_FLOW * v),
        coils=COIL_PRICE * design.coils,
        valve=VALVE_PRICE * float(np.sum(np.abs(np.diff(v)))) / HOURS,
    )


def loss(params: Mapping[str, Any]) -> float:
    """EUR lost per hour, of a design given by name: what the demo minimises."""
    return losses(Design(**params)).total
