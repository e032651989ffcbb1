"""Events become records, and records become the arrays that a proposal works on."""

import copy
import pickle

import numpy as np
import pytest

from headway.errors import CheckpointError
from headway.history import VERSION, History, parse, replay
from headway.space import Space

SPACE = Space.of({"a": (0.0, 1.0), "b": (0.0, 2.0)})
EVENTS = [
    {"event": "known", "id": 0, "t": 0.0, "params": {"a": 0.5, "b": 1.0}, "value": 9.0},
    {"event": "x0", "id": 1, "t": 0.0, "params": {"a": 0.0, "b": 0.0}, "index": 0},
    {"event": "asked", "id": 2, "t": 1.0, "params": {"a": 1.0, "b": 2.0}, "state": {"k": 1}},
    {"event": "asked", "id": 3, "t": 1.0, "params": {"a": 0.25, "b": 0.5}, "why": {"w": 1}},
    {"event": "failed", "id": 2, "t": 3.0, "error": "boom"},
    {"event": "budget", "t": 3.5, "budget": {"evaluations": 9}},
    {"event": "told", "id": 1, "t": 4.0, "value": 3.0, "variance": 0.5, "cost": 2.0},
    {"event": "asked", "id": 4, "t": 4.0, "params": {"a": 0.75, "b": 0.5}, "state": {}},
    {"event": "cancelled", "id": 4, "t": 5.0},
]


def history_of(events, k=0):
    records, order = replay(
        events, encode=SPACE.encode, read=lambda event: tuple(event.get("why", ()))
    )
    return History(tuple(records), tuple(order), SPACE.d, k)


def test_events_become_records():
    history = history_of(EVENTS)
    told = [r.status for r in history]
    assert told == ["told", "told", "failed", "running", "cancelled"]
    assert [r.source for r in history] == ["known", "x0", "asked", "asked", "asked"]
    assert history.order == (0, 2, 1)
    assert history[1].value == 3.0 and history[1].ended_at == 4.0 and history[1].cost == 2.0
    assert history[2].error == "boom" and history[2].value is None
    assert history[3].why == ("w",)
    assert [r.id for r in history.running] == [3]
    assert [r.id for r in history.finished] == [0, 2, 1]
    assert repr(history) == "History(2 told, 1 failed, 1 running, 1 cancelled)"
    assert repr(History()) == "History(empty)"


def test_facts_are_the_finished_trials_in_finishing_order():
    facts = history_of(EVENTS).facts("minimize")
    np.testing.assert_array_equal(facts.Z, [[0.5, 0.5], [1.0, 1.0], [0.0, 0.0]])
    np.testing.assert_array_equal(facts.y, [9.0, np.nan, 3.0])
    np.testing.assert_array_equal(facts.failed, [False, True, False])
    np.testing.assert_array_equal(facts.Zp, [[0.25, 0.25]])
    np.testing.assert_array_equal(facts.ids, [0, 2, 1])
    np.testing.assert_array_equal(facts.variance, [0.5, 0.5, 0.5])  # the mean where missing
    assert facts.constraints.shape == (3, 0)
    assert facts.state == {"k": 1}  # of the newest asked trial that carries one
    assert facts.n_asked == 4


def test_facts_turn_the_sign_of_a_maximum():
    facts = history_of(EVENTS).facts("maximize")
    np.testing.assert_array_equal(facts.y, [-9.0, np.nan, -3.0])
    assert history_of(EVENTS)[0].value == 9.0


def test_facts_of_nothing_have_their_shapes():
    facts = History(d=2, k=3).facts("minimize")
    assert facts.Z.shape == (0, 2) and facts.Zp.shape == (0, 2) and facts.y.shape == (0,)
    assert facts.constraints.shape == (0, 3) and facts.variance is None and facts.state == {}


def test_constraints_of_failures_are_nan():
    told = {"event": "told", "id": 3, "t": 9.0, "value": 1.0, "constraints": [-1.0, 2.0]}
    events = [*EVENTS[1:4], EVENTS[4], told]
    events = [{**e, "id": e["id"] - 1} for e in events]
    facts = history_of(events, k=2).facts("minimize")
    np.testing.assert_array_equal(facts.constraints, [[np.nan, np.nan], [-1.0, 2.0]])


def test_the_best_meets_the_constraints():
    def told(id, value, c):
        asked = {"event": "asked", "id": id, "t": 0.0, "params": {"a": 0.1 * id, "b": 0.0}}
        told = {"event": "told", "id": id, "t": 0.0, "value": value, "constraints": c}
        return [asked, told]

    infeasible = [*told(0, 1.0, [3.0, -1.0]), *told(1, 2.0, [0.5, 0.5])]
    history = history_of(infeasible, k=2)
    assert history.best("minimize") is None
    assert history.nearest_feasible("minimize").id == 1
    feasible = [*infeasible, *told(2, 5.0, [0.0, 0.0]), *told(3, 4.0, [-1, -1])]
    history = history_of(feasible, k=2)
    assert history.best("minimize").id == 3 and history.best("maximize").id == 2
    assert history.nearest_feasible("maximize").id == 2


def test_a_snapshot_cannot_be_changed():
    history = history_of(EVENTS)
    history[1].params["a"] = 7.0
    assert history[1].params == {"a": 0.0, "b": 0.0}
    with pytest.raises(ValueError, match="read-only"):
        history.facts("minimize").Z[0, 0] = 1.0
    with pytest.raises(AttributeError):
        history.records = ()
    assert pickle.loads(pickle.dumps(history)) == copy.deepcopy(history) == history


def test_a_late_tell_of_a_cancelled_trial():
    late = {"event": "told", "id": 4, "t": 6.0, "value": 0.0}
    history = history_of([*EVENTS, late])
    assert history[4].status == "told" and history.order == (0, 2, 1, 4)


@pytest.mark.parametrize(
    "event",
    [
        {"event": "told", "id": 1, "t": 9.0, "value": 1.0},  # told already
        {"event": "cancelled", "id": 4, "t": 9.0},  # cancelled already
        {"event": "told", "id": 9, "t": 9.0, "value": 1.0},  # unknown
        {"event": "told", "id": -2, "t": 9.0, "value": 1.0},
        {"event": "told", "id": 3, "t": 9.0, "value": "a"},
        {"event": "told", "id": 3, "t": 9.0, "value": None},
        {"event": "asked", "id": 7, "t": 9.0, "params": {"a": 0.0, "b": 0.0}},  # 5 comes next
        {"event": "asked", "id": 5, "t": 9.0, "params": {"a": 4.0, "b": 0.0}},  # outside
        {"event": "asked", "id": 5, "t": 9.0},
        {"event": "renamed", "id": 3, "t": 9.0},
        {"id": 3},
        "told",
    ],
)
def test_events_that_headway_did_not_write(event):
    with pytest.raises(CheckpointError, match=r"event 9 of the stored run cannot be read"):
        history_of([*EVENTS, event])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "is not JSON"),
        (None, "is not JSON .the JSON object must be str"),
        ({"headway": VERSION}, "is not JSON .the JSON object must be str"),
        ("[" * 100_000, "is not JSON"),
        ("[1]", "is not JSON .an object was expected, not a list"),
        ('{"headway": NaN}', "NaN is not a number of JSON"),
        ('{"a": 1}', "names no version"),
        (f'{{"headway": {VERSION + 1}}}', f"of version {VERSION + 1}. Allowed: {VERSION}"),
    ],
)
def test_text_that_headway_did_not_write(text, message):
    with pytest.raises(CheckpointError, match=message):
        parse(text, "the text")


def test_five_thousand_trials():
    events = []
    for i in range(5000):
        params = {"a": i / 5000, "b": 1.0}
        events.append({"event": "asked", "id": i, "t": 0.0, "params": params})
        events.append({"event": "told", "id": i, "t": 0.0, "value": float(-i)})
    facts = history_of(events).facts("minimize")
    assert facts.Z.shape == (5000, 2) and facts.y[-1] == -4999.0
