"""Optimizer.ask and tell: the only mutable object of the package, and it only appends events.

Everything it knows is its header (the settings) and its events; `to_json` writes both, and an
optimizer loaded from them asks for the identical next trial. Randomness is keyed by (seed, trial
id). It is not thread-safe: ask and tell from one thread, evaluate wherever you like.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from time import monotonic
from typing import Any, Literal, cast, overload

from headway import budget as ledger
from headway import inputs, outcome
from headway.budget import Budget
from headway.errors import BudgetSpent, CheckpointError, SettingError, SpaceExhausted, TellError
from headway.history import VERSION, Direction, Event, History, Record, apply, parse, replay
from headway.inputs import Point
from headway.policy import Policy
from headway.proposal import Settings
from headway.propose import propose
from headway.space import Space
from headway.surrogate import Surrogate
from headway.trial import Trial, find
from headway.why import Why, for_user


class Optimizer:
    """Proposes points within a budget and records what came of them."""

    def __init__(
        self,
        space: object,
        budget: object,
        *,
        seed: int | None = 0,
        policy: Policy | None = None,
        surrogate: Surrogate | None = None,
        noise: float | Literal["auto"] | None = None,
        constraints: int = 0,
        direction: Direction = "minimize",
        x0: Point | Iterable[Point] | None = None,
        design: int | None = None,
    ) -> None:
        """Settings are checked here, so that nothing is wrong hours later.

        seed: None draws one and keeps it. noise: short for `Surrogate(noise=)`. constraints: how
        many each tell brings; one is met when <= 0. x0: points to try first, which spend.
        design: trials, x0 and known points included, before the model is used; max(2, d + 1).
        """
        self._space = Space.of(space)
        self._budget = self._first_budget = Budget.of(budget)
        self._direction = inputs.direction(direction)
        self._x0 = inputs.points(x0, self._space)
        self._k = inputs.whole("constraints", constraints, 0)
        self._settings = inputs.settings(
            self._space.d, seed=seed, policy=policy, surrogate=surrogate, noise=noise, design=design
        )
        if self._budget.evaluations is not None and len(self._x0) > self._budget.evaluations:
            raise SettingError(
                f"x0 has {len(self._x0)} points and the budget {self._budget.evaluations} "
                f"evaluations. Allowed: at most as many points. Shorten x0 or raise the budget."
            )
        self._events: list[Event] = []
        self._records: list[Record] = []
        self._order: list[int] = []
        self._seen: Counter[tuple[float, ...]] = Counter()  # points that are not cancelled
        self._cache: dict[str, Any] = {}
        self._sink: Callable[[Sequence[Event]], None] | None = None
        self._before = 0.0  # active seconds of the sessions before this one
        self._since: float | None = None  # when this one became active

    # What it is and what it knows

    @property
    def space(self) -> Space:
        return self._space

    @property
    def budget(self) -> Budget:
        return self._budget

    @property
    def direction(self) -> Direction:
        return self._direction

    @property
    def seed(self) -> int:
        return self._settings.seed

    @property
    def settings(self) -> Settings:
        return self._settings

    @property
    def history(self) -> History:
        """An immutable snapshot of every trial and known point."""
        return History(tuple(self._records), tuple(self._order), self._space.d, self._k)

    @property
    def events(self) -> Sequence[Event]:
        """The stored truth, in order; to be read only."""
        return self._events

    @property
    def pending(self) -> tuple[Trial, ...]:
        """Trials that were asked and are neither told, failed nor cancelled."""
        form = self._space.form
        return tuple(Trial(r.id, r.point, r.why, form) for r in self.history.running)

    @property
    def best(self) -> Record | None:
        """The best record that meets the constraints; None as long as there is none."""
        return self.history.best(self._direction)

    @property
    def seconds(self) -> float:
        """Active wall time, summed over resumptions; it begins with the first ask."""
        return self._before + (0.0 if self._since is None else monotonic() - self._since)

    @property
    def done(self) -> bool:
        """Whether nothing is left to ask for; running trials may still be told."""
        return self._is_spent(ledger.spent(self.history)) or self._is_exhausted()

    @property
    def message(self) -> str:
        """Where the run stands, in a sentence."""
        used = ledger.spent(self.history)
        account = ledger.describe(self._budget, used, seconds=self.seconds)
        if self._is_spent(used):
            return f"The budget is spent: {account}."
        if self._is_exhausted():
            return f"Every point of the space is evaluated, all {self._space.size}: {account}."
        return f"Budget is left; used so far: {account}."

    # What changes it

    @overload
    def ask(self) -> Trial: ...
    @overload
    def ask(self, n: int) -> list[Trial]: ...
    def ask(self, n: int | None = None) -> Trial | list[Trial]:
        """The next trial, or a list of n; fewer than n when the budget holds no more."""
        count = 1 if n is None else inputs.whole("n", n, 1)
        if self._since is None:
            self._since = monotonic()
        trials: list[Trial] = []
        try:
            for _ in range(count):
                trials.append(self._next())
        except (BudgetSpent, SpaceExhausted):
            if not trials:
                raise
        return trials[0] if n is None else trials

    def tell(
        self,
        trial: Trial | int,
        value: object = None,
        *,
        constraints: object = None,
        cost: object = None,
        variance: object = None,
        failed: bool = False,
        error: str | None = None,
    ) -> Record:
        """Record what came of a trial: a value or an Outcome, or failed=True and the error.

        A cancelled trial may still be told, and then spends. With a cost budget a failure whose
        cost is unknown is charged the mean of the known costs, so that the run ends.
        """
        record = find(trial, self._records, ("running", "cancelled"))
        name = f"trial {record.id}"
        if failed:
            outcome.failed(name, value=value, constraints=constraints, variance=variance)
            paid = outcome.positive(cost, f"the cost of {name}")
            if paid is None and self._budget.cost is not None:
                paid = self._mean_cost()
            return self._append("failed", record.id, {"error": error and str(error), "cost": paid})
        if error is not None:
            raise TellError(
                f"{name} was told the error {error!r} without failed=True. Allowed: an error "
                f"with failed=True, or a value. Add failed=True."
            )
        result = outcome.told(
            name, value, constraints=constraints, cost=cost, variance=variance, k=self._k
        )
        if result.cost is None and self._budget.cost is not None:
            raise TellError(
                f"{name} was told without its cost, and the budget is {self._budget.cost:g} of "
                f"cost. Allowed: a number >= 0. Tell cost=, or return Outcome(value, cost=...)."
            )
        return self._append("told", record.id, outcome.fields(result))

    def cancel(self, trial: Trial | int) -> Record:
        """Give a running trial back; what was reserved for it may be asked for again."""
        return self._append("cancelled", find(trial, self._records, ("running",)).id, {})

    def tell_known(
        self,
        params: Point,
        value: object = None,
        *,
        constraints: object = None,
        variance: object = None,
        failed: bool = False,
        error: str | None = None,
    ) -> Record:
        """Record a point that is known already; it spends nothing."""
        name = "the known point"
        kept: Event = {"params": inputs.point(params, self._space, name=name)}
        if failed:
            outcome.failed(name, value=value, constraints=constraints, variance=variance)
            kept["error"] = "" if error is None else str(error)
        else:
            result = outcome.told(
                name, value, constraints=constraints, variance=variance, k=self._k
            )
            kept.update(outcome.fields(result))
        return self._append("known", len(self._records), kept)

    def extend(self, budget: object) -> None:
        """Replace the budget, by a larger one or at least one that covers what is spent."""
        new = Budget.of(budget)
        ledger.require_covered(new, ledger.spent(self.history), seconds=self.seconds)
        self._budget = new
        self._record({"event": "budget", "t": self.seconds, "budget": new.to_json()})

    def follow(self, sink: Callable[[Sequence[Event]], None] | None) -> None:
        """Call sink(events) with all events after each new one; None to stop."""
        self._sink = sink

    # Storage

    def header(self) -> dict[str, Any]:
        """The settings as plain JSON: with the events, all that is stored."""
        settings = self._settings
        return {
            "headway": VERSION,
            "space": self._space.to_json(),
            "seed": settings.seed,
            "direction": self._direction,
            "constraints": self._k,
            "design": settings.design,
            "x0": self._x0,
            "policy": settings.policy.to_json(),
            "surrogate": settings.surrogate.to_json(),
            "budget": self._first_budget.to_json(),
        }

    def to_json(self) -> str:
        """Everything, as JSON text; `from_json` continues from it."""
        return json.dumps({**self.header(), "events": self._events}, allow_nan=False)

    @classmethod
    def from_json(
        cls, text: str, callables: Mapping[str, Callable[..., Any]] | None = None
    ) -> Optimizer:
        """The optimizer that `to_json` wrote; custom callables must be given again, by name."""
        data = parse(text, "the text given to from_json")
        try:
            optimizer = cls(
                Space.from_json(data["space"]),
                Budget.from_json(data["budget"]),
                seed=data["seed"],
                policy=Policy.from_json(data["policy"], callables),
                surrogate=Surrogate.from_json(data["surrogate"]),
                constraints=data["constraints"],
                direction=data["direction"],
                x0=data["x0"],
                design=data["design"],
            )
            events = list(data["events"])
        except (KeyError, TypeError, AttributeError) as error:
            raise CheckpointError(
                f"the stored optimizer cannot be read: {type(error).__name__}: {error}. "
                f"Allowed: what to_json wrote. Use the unchanged text."
            ) from error
        optimizer.replay(events)
        return optimizer

    def replay(self, events: Sequence[Event], *, budget: Budget | None = None) -> None:
        """Take over stored events, and the budget that they began with."""
        if self._events:
            raise SettingError("replay needs a new optimizer; this one has events of its own.")
        self._budget = self._first_budget = budget or self._first_budget
        self._records, self._order = replay(events, encode=self._space.encode, read=self._read)
        self._events = list(events)
        for record in self._records:
            self._seen[record.z] += record.status != "cancelled"
        self._seen += Counter()
        if any(record.status == "running" for record in self._records):
            self._since = monotonic()

    # Inside

    def _read(self, event: Event) -> Why | None:
        """Take the time, the budget and the reasons from a stored event; check what it tells."""
        self._before = max(self._before, float(event["t"]))
        outcome.check_stored(event, x0=len(self._x0), k=self._k)
        if event["event"] == "budget":
            self._budget = Budget.from_json(event["budget"])
        return Why.from_json(event["why"]) if "why" in event else None

    def _next(self) -> Trial:
        history = self.history
        used = ledger.spent(history)
        if self._is_spent(used):
            account = ledger.describe(self._budget, used, seconds=self.seconds)
            raise BudgetSpent(
                f"nothing is left to ask for: {account}. `done` tells beforehand. "
                f"extend(budget) continues with a larger one."
            )
        if self._is_exhausted():
            raise SpaceExhausted(
                f"all {self._space.size} points of the space have been asked for and the function "
                f"is taken as free of noise. `done` tells beforehand. Give a larger space, or "
                f"noise= its variance to evaluate points again."
            )
        index = self._next_x0()
        if index is not None:
            why = Why("a point to try first (x0)")
            opened: Event = {"params": dict(self._x0[index]), "index": index}
        else:
            proposal = propose(
                history.facts(self._direction),
                self._space,
                self._settings,
                clock=ledger.clock(self._budget, history, design=self._settings.design),
                trial_id=len(self._records),
                cache=self._cache,
            )
            why = for_user(proposal.why, maximize=self._direction == "maximize")
            # As it will be read again: a reloaded run must start from the very same numbers.
            state = json.loads(json.dumps(proposal.state, allow_nan=False))
            opened = {"params": self._space.decode(proposal.z), "state": state or None}
        event = "asked" if index is None else "x0"
        record = self._append(event, len(self._records), {**opened, "why": why.to_json()}, why=why)
        return Trial(record.id, record.point, record.why, self._space.form)

    def _next_x0(self) -> int | None:
        asked = (e["index"] for e in reversed(self._events) if e["event"] == "x0")
        first = next(asked, -1) + 1 if self._x0 else 0
        for index in range(first, len(self._x0)):
            z = tuple(self._space.encode(self._x0[index]).tolist())
            if not (self._repeats_nothing() and z in self._seen):
                return index
        return None

    def _append(self, name: str, id: int, fields: Event, *, why: Any = None) -> Record:
        event: Event = {"event": name, "id": id, "t": self.seconds}
        event.update((key, value) for key, value in fields.items() if value is not None)
        return cast(Record, self._record(event, why=why))

    def _record(self, event: Event, *, why: Any = None) -> Record | None:
        name = event["event"]
        late = name in ("told", "failed") and self._records[event["id"]].status == "cancelled"
        record = apply(event, self._records, self._order, encode=self._space.encode, why=why)
        self._events.append(event)
        if record is not None:
            if name in ("asked", "x0", "known") or late:
                self._seen[record.z] += 1
            elif name == "cancelled":
                self._seen[record.z] -= 1
                self._seen += Counter()  # drops the points that are no longer taken
        if self._sink is not None:
            self._sink(self._events)
        return record

    def _mean_cost(self) -> float:
        costs = [record.cost for record in self._records if record.cost is not None]
        return sum(costs) / len(costs) if costs else 0.0

    def _is_spent(self, used: ledger.Spent) -> bool:
        return ledger.is_spent(self._budget, used, seconds=self.seconds)

    def _is_exhausted(self) -> bool:
        size = self._space.size
        return size is not None and self._repeats_nothing() and len(self._seen) >= size

    def _repeats_nothing(self) -> bool:
        finite = self._space.size is not None
        quiet = self._settings.surrogate.noise in (0, "auto")
        return finite and quiet and all(record.variance is None for record in self._records)
