"""The ledger: what a budget allows, what is spent, and how far along the run is."""

from dataclasses import replace
from datetime import timedelta
from math import inf, nan

import numpy as np
import pytest

from headway import budget as ledger
from headway.budget import Budget, Clock, Spent
from headway.errors import BudgetError
from headway.history import History, Record


def record(id, status="told", source="asked", asked=0.0, ended=None, cost=None):
    value = 1.0 if status == "told" else None
    return Record(id, (), (), status, source, asked, value, cost=cost, ended_at=ended)


def test_an_int_is_evaluations_a_timedelta_is_time():
    assert Budget.of(50) == Budget(evaluations=50)
    assert Budget.of(np.int64(50)) == Budget(evaluations=50)
    assert type(Budget.of(np.int64(50)).evaluations) is int
    assert Budget.of(timedelta(hours=1)) == Budget(seconds=3600.0)
    assert Budget(seconds=timedelta(minutes=1)) == Budget(seconds=60.0)
    mixture = Budget(evaluations=60, seconds=3600, cost=200)
    assert Budget.of(mixture) is mixture
    assert Budget.from_json(mixture.to_json()) == mixture


@pytest.mark.parametrize("bad", [0, -1, 2.5, 50.0, True, False, nan, inf, 1j])
def test_a_bad_number_of_evaluations(bad):
    with pytest.raises(BudgetError, match=r"budget is .* evaluations\. Allowed: a whole number"):
        Budget.of(bad)


@pytest.mark.parametrize("bad", ["50", None, [50], {"evaluations": 50}])
def test_a_budget_of_another_type(bad):
    with pytest.raises(BudgetError, match=r"budget is .*, of type .*Give an int \(evaluations\)"):
        Budget.of(bad)


@pytest.mark.parametrize("name", ["seconds", "cost"])
@pytest.mark.parametrize(
    "bad", [0, -1.0, nan, inf, True, "60", 1j, pytest.param(10**400, id="1e400")]
)
def test_a_bad_amount(name, bad):
    with pytest.raises(BudgetError, match=f"budget is {name}=.*Allowed: a finite number above 0"):
        Budget(**{name: bad})


def test_no_time_at_all():
    with pytest.raises(BudgetError, match=r"seconds=0\.0"):
        Budget.of(timedelta(0))


def test_an_empty_budget_would_never_end():
    with pytest.raises(BudgetError, match="nothing in it would never end"):
        Budget()


def test_told_failed_and_running_count_cancelled_and_known_do_not():
    history = History(
        (
            record(0, "told", ended=2.0, cost=1.5),
            record(1, "failed", ended=5.0),
            record(2, "running"),
            record(3, "cancelled", ended=9.0),
            record(4, "told", source="known", ended=10.0, cost=7.0),
            record(5, "told", source="x0", ended=4.0, cost=0.5),
        )
    )
    assert ledger.spent(history) == Spent(evaluations=4, running=1, seconds=5.0, cost=2.0)


def test_progress_is_the_largest_fraction_and_at_most_one():
    used = Spent(evaluations=10, running=0, seconds=90.0, cost=5.0)
    assert ledger.progress(Budget(evaluations=40), used) == 0.25
    assert ledger.progress(Budget(evaluations=40, seconds=100), used) == 0.9
    assert ledger.progress(Budget(evaluations=40, cost=4), used) == 1.0


def test_what_is_left():
    used = Spent(evaluations=10, running=0, seconds=90.0, cost=5.0)
    assert ledger.evaluations_left(Budget(evaluations=12), used) == 2
    assert ledger.evaluations_left(Budget(evaluations=9), used) == 0  # a late tell
    assert ledger.evaluations_left(Budget(seconds=1), used) is None
    assert not ledger.is_spent(Budget(evaluations=11, seconds=100), used, seconds=99.0)
    assert ledger.is_spent(Budget(evaluations=11, seconds=100), used, seconds=100.0)
    assert ledger.is_spent(Budget(cost=5), used, seconds=0.0)


def test_the_clock_holds_p0_where_the_design_ended():
    records = [record(i, asked=2.0 * i, ended=2.0 * i + 1) for i in range(5)]
    budget = Budget(evaluations=10)
    assert ledger.clock(budget, History(), design=3) == Clock(0.0, 0.0)
    assert ledger.clock(budget, History(tuple(records[:2])), design=3) == Clock(0.2, 0.2)
    assert ledger.clock(budget, History(tuple(records[:3])), design=3) == Clock(0.3, 0.3)
    assert ledger.clock(budget, History(tuple(records)), design=3) == Clock(0.5, 0.3)
    # By time p0 is the end of the last trial that had finished by then.
    assert ledger.clock(Budget(seconds=20), History(tuple(records)), design=3) == Clock(
        9 / 20, 5 / 20
    )
    # A raised budget opens the run again: both fractions shrink.
    assert ledger.clock(Budget(evaluations=20), History(tuple(records)), design=3) == Clock(
        0.25, 0.15
    )


def test_known_points_shorten_the_design_and_a_cancelled_trial_does_not_count():
    known = [record(0, source="known", ended=0.0), record(1, source="known", ended=0.0)]
    asked = [record(2, ended=1.0), record(3, "cancelled", ended=1.0), record(4, ended=2.0)]
    clock = ledger.clock(Budget(evaluations=10), History((*known, *asked)), design=3)
    assert clock == Clock(0.2, 0.1)


def test_the_words():
    used = Spent(evaluations=37, running=2, seconds=1.0, cost=3.25)
    text = ledger.describe(Budget(evaluations=50, seconds=3600, cost=10), used, seconds=720.0)
    assert text == "37 of 50 evaluations (2 of them still running), 12 min of 1 h, cost 3.25 of 10"
    done = replace(used, running=0)
    assert ledger.describe(Budget(evaluations=50), done, seconds=0.0) == "37 of 50 evaluations"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        *[(0, "0 s"), (0.0123, "12.3 ms"), (5, "5 s"), (90, "90 s"), (60, "1 min")],
        *[(150, "2.5 min"), (3600, "1 h"), (5400, "90 min"), (86400, "1 d"), (2e5, "2.31 d")],
    ],
)
def test_durations_in_the_unit_a_person_would_use(seconds, text):
    assert ledger.duration(seconds) == text


def test_the_time_left_at_the_rate_so_far():
    used = Spent(evaluations=11, running=1, seconds=100.0, cost=5.0)
    assert ledger.seconds_left(Budget(evaluations=30), used, seconds=100.0) == 200.0
    assert ledger.seconds_left(Budget(evaluations=30, seconds=150), used, seconds=100.0) == 50.0
    assert ledger.seconds_left(Budget(cost=6), used, seconds=100.0) == 20.0
    nothing = Spent(0, 0, 0.0, 0.0)
    assert ledger.seconds_left(Budget(evaluations=30), nothing, seconds=1.0) is None


@pytest.mark.parametrize(
    ("budget", "text"),
    [
        (Budget(evaluations=9), "9 evaluations is smaller than the 10"),
        (Budget(cost=4), "4 cost is smaller than the 5"),
        (Budget(seconds=99), "99 seconds is smaller than the 100"),
    ],
)
def test_a_new_budget_covers_what_is_spent(budget, text):
    used = Spent(evaluations=10, running=0, seconds=90.0, cost=5.0)
    with pytest.raises(BudgetError, match=text):
        ledger.require_covered(budget, used, seconds=100.0)
    ledger.require_covered(Budget(evaluations=10, seconds=100, cost=5), used, seconds=100.0)
