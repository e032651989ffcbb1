"""Optuna's studies driven by Headway: a sampler that knows its budget.

    study.sampler = headway.optuna.HeadwaySampler(budget=60)

The study's trials are the facts: a proposal is a pure function of them, the settings and the
trial's number. So several processes on one storage share one budget, and a study goes on tomorrow
where it ended today; what is kept in memory only saves time.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from threading import RLock
from time import sleep
from typing import Any, Literal
from zlib import crc32

try:
    import optuna
except ImportError as missing:
    raise ImportError(
        'headway.optuna needs Optuna 4.8 or later. Install it: pip install "headway[optuna]".'
    ) from missing
from optuna.distributions import BaseDistribution
from optuna.samplers import BaseSampler, RandomSampler
from optuna.samplers._base import (
    _INDEPENDENT_SAMPLING_WARNING_TEMPLATE,
    _process_constraints_after_trial,
)
from optuna.study import Study, StudyDirection
from optuna.trial import FrozenTrial, TrialState

from headway import budget as ledger
from headway import inputs
from headway.arrays import keyed_rng
from headway.budget import Budget
from headway.errors import BudgetError, BudgetSpent, SpaceExhausted, TellError
from headway.optimizer import Optimizer
from headway.optuna_replay import largest, replayed, void_of
from headway.optuna_space import Group, distributions_of, group_of, unknown_of
from headway.optuna_study import (
    POLL,
    is_settled,
    refuse,
    require_one_objective,
    stop,
    trials_of,
)
from headway.optuna_trials import (
    ASKED,
    COST,
    PROPOSING,
    WHY,
    Encoded,
    Memory,
    Reading,
    cost_of,
    counted,
    history_of,
    key_of,
    spent_of,
)
from headway.policy import Policy
from headway.proposal import Settings
from headway.propose import propose
from headway.space import Space
from headway.surrogate import Surrogate
from headway.why import Why, for_user

__all__ = ["HeadwaySampler", "distributions_of", "optimizer_of"]

logger = optuna.logging.get_logger("optuna.headway")

_DYNAMIC = (
    "its range differs between trials, or it appears in some of them only and no other parameter "
    "says in which"
)


class HeadwaySampler(BaseSampler):
    """Headway's proposals for an Optuna study of one objective."""

    def __init__(
        self,
        budget: object,
        *,
        seed: int | None = 0,
        policy: Policy | None = None,
        surrogate: Surrogate | None = None,
        noise: float | Literal["auto"] | None = None,
        design: int | None = None,
        constraints_func: Callable[[FrozenTrial], Sequence[float]] | None = None,
        space: object = None,
        warn_independent_sampling: bool = True,
    ) -> None:
        """Settings are checked here, so that nothing is wrong hours later.

        budget: of the whole study, all its processes and sessions. An int counts its trials that
            are finished or running; a timedelta or seconds= counts the time in which at least one
            trial ran; cost= sums what the trials say with `trial.set_user_attr("cost", 3.1)`.
        seed, policy, surrogate, noise, design: as for `headway.Optimizer`. Give each process of a
            study the same; None draws a seed.
        constraints_func: as for Optuna's own samplers; `trial.set_constraint` needs none.
        space: what `headway.Space.of` takes, if it is known beforehand. Then the first trials too
            are of the initial design. Without it the space is read off the complete trials.
        """
        self.budget = Budget.of(budget)
        self.space = None if space is None else Space.of(space)
        self._given = None if self.space is None else group_of(self.space)
        # For checks only: the size of the design depends on the space.
        self._settings = inputs.settings(
            1, seed=seed, policy=policy, surrogate=surrogate, noise=noise, design=design
        )
        self.design = design
        self._constraints_func = constraints_func
        self._warn_independent_sampling = warn_independent_sampling
        self._forget()

    def __getstate__(self) -> dict[str, Any]:
        """Without what only saves time, so that a sampler can be pickled and sent."""
        state = self.__dict__.copy()
        del state["_lock"], state["_memories"]
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._forget()

    def _forget(self) -> None:
        self._lock = RLock()
        self._memories: dict[tuple[int, str], Memory] = {}

    @property
    def seed(self) -> int:
        return self._settings.seed

    def settings(self, d: int) -> Settings:
        """The settings for a space of d parameters."""
        given = self._settings
        return inputs.settings(
            d,
            seed=given.seed,
            policy=given.policy,
            surrogate=given.surrogate,
            noise=None,
            design=self.design,
        )

    def reseed_rng(self) -> None:
        """Nothing to do: random numbers are keyed by the seed and the trial's number."""

    def infer_relative_search_space(
        self, study: Study, trial: FrozenTrial
    ) -> dict[str, BaseDistribution]:
        """What is modelled: of several groups, all their parameters."""
        require_one_objective(study)
        with self._lock:
            memory = self._memory(study)
            if not memory.catalogue.rows:  # else `before_trial` has just read the trials
                memory.take(trials_of(study))
            groups = memory.catalogue.chosen(self._given, None)
        return {name: known for group in groups for name, known in group.distributions.items()}

    def sample_relative(
        self, study: Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        """The next point. It is stored before it is evaluated, so that others see it pending."""
        require_one_objective(study)
        fixed = trial.system_attrs.get("fixed_params", {})
        if not search_space or search_space.keys() <= fixed.keys():
            return {}
        study._storage.set_trial_system_attr(trial._trial_id, PROPOSING, True)
        while True:
            with self._lock:  # threads of one process see each other's points
                trials = trials_of(study)
                if is_settled(trials, before=trial):
                    return self._sampled(study, trial, trials, search_space)
            sleep(POLL)

    def sample_independent(
        self,
        study: Study,
        trial: FrozenTrial,
        param_name: str,
        param_distribution: BaseDistribution,
    ) -> Any:
        """A parameter that no model knows: at random, keyed by seed, trial and name."""
        require_one_objective(study)
        if self._warn_independent_sampling and any(
            other.state == TrialState.COMPLETE for other in trials_of(study)
        ):
            logger.warning(
                _INDEPENDENT_SAMPLING_WARNING_TEMPLATE.format(
                    param_name=param_name,
                    trial_number=trial.number,
                    independent_sampler_name=RandomSampler.__name__,
                    sampler_name=type(self).__name__,
                    fallback_reason=unknown_of(param_distribution) or _DYNAMIC,
                )
            )
        rng = keyed_rng(self.seed, trial.number, crc32(param_name.encode()))
        sampler = RandomSampler(seed=int(rng.integers(2**32)))
        return sampler.sample_independent(study, trial, param_name, param_distribution)

    def before_trial(self, study: Study, trial: FrozenTrial) -> None:
        """Stop the study with the last trial that the budget holds, and refuse one beyond it.

        In the middle of `study.optimize` a trial beyond is let through: another thread or process
        began the last one at the same moment, and Optuna has no way to give a trial back.
        """
        try:
            require_one_objective(study)
            with self._lock:
                memory, trials = self._memory(study), trials_of(study)
                memory.take(trials)
                used = spent_of(self.budget, trials, trial)
                refusal = self._refusal(study, trial, trials, arriving=not memory.met)
                # After the end of a run a stop flag that is down is that of another run.
                anew = not memory.met or (memory.ended and not getattr(study, "_stop_flag", True))
                memory.met = True
                ending = bool(refusal) or ledger.evaluations_left(self.budget, used) == 0
                memory.ended = memory.ended or ending
            looping = ending and stop(study)
            if refusal is not None and (anew or not looping):
                raise refusal
        except Exception as error:
            refuse(study, trial, error)
            raise

    def after_trial(
        self, study: Study, trial: FrozenTrial, state: TrialState, values: Sequence[float] | None
    ) -> None:
        """Compute the constraints, and stop the study where its time or cost is used up."""
        if self._constraints_func is not None:
            _process_constraints_after_trial(self._constraints_func, study, trial, state)
        if self.budget.seconds is None and self.budget.cost is None:
            return  # evaluations were counted when the trial began
        used = spent_of(self.budget, trials_of(study), trial)
        if ledger.is_overdrawn(self.budget, used, seconds=used.seconds):
            with self._lock:
                self._memory(study).ended = True
            stop(study)
        limit = self.budget.cost
        if limit is not None and state == TrialState.COMPLETE and cost_of(trial) is None:
            raise TellError(
                f"trial {trial.number} ended without its cost, and the budget is {limit:g} of "
                f"cost. Allowed: a number >= 0. Its value is stored; call "
                f"trial.set_user_attr({COST!r}, ...) in the objective."
            )

    # Inside

    def _memory(self, study: Study) -> Memory:
        return self._memories.setdefault((study._study_id, study.study_name), Memory())

    def _sampled(
        self,
        study: Study,
        trial: FrozenTrial,
        trials: Sequence[FrozenTrial],
        wanted: Mapping[str, BaseDistribution],
    ) -> dict[str, Any]:
        """The parameters of every group; what they were asked with and why is stored."""
        memory = self._memory(study)
        memory.take(trials)
        others = [other for other in trials if other.number != trial.number]
        minimize = study.direction != StudyDirection.MAXIMIZE
        reading = Reading.of(others, self.budget, minimize=minimize)
        params: dict[str, Any] = {}
        entries: list[dict[str, Any]] = []
        reasons: list[str] = []
        for group in memory.catalogue.chosen(self._given, wanted):
            point, entry, why = self._propose(group, reading, memory, trial)
            params |= point
            entries.append(entry)
            reasons.append(f"{', '.join(point)}: {why}" if reasons else str(why))
        if entries:
            fixed = trial.system_attrs.get("fixed_params", {})
            given = [name for name in params if name in fixed]
            reasons += [f"enqueued: {', '.join(given)}"] if given else []
            store = study._storage
            store.set_trial_system_attr(trial._trial_id, ASKED, {"groups": entries})
            store.set_trial_user_attr(trial._trial_id, WHY, "; ".join(reasons))
            trial.set_user_attr(WHY, "; ".join(reasons))  # the copy that the objective sees
        return params

    def _propose(
        self, group: Group, reading: Reading, memory: Memory, trial: FrozenTrial
    ) -> tuple[dict[str, Any], dict[str, Any], Why]:
        """The group's next point, what is stored of it, and why."""
        settings = self.settings(group.space.d)
        key = key_of(group, settings)
        encoded = memory.encoded.setdefault(key, Encoded(group))
        history = history_of(reading, encoded, key)
        facts = history.facts("minimize" if reading.minimize else "maximize")
        # By number, so that two trials of the same moment take different points of the design.
        earlier = sum(other.number < trial.number for other in reading.trials)
        try:
            proposal = propose(
                replace(facts, n_asked=earlier),
                group.space,
                settings,
                clock=ledger.clock(self.budget, history, design=settings.design),
                trial_id=trial.number,
                cache=encoded.cache,
            )
            z, why, state = proposal.z, proposal.why, proposal.state
        except SpaceExhausted:  # Optuna goes on, so a point comes up again
            u = keyed_rng(self.seed, trial.number).random((1, group.space.d))
            z, state = group.space.from_unit(u)[0], {}
            why = Why(f"at random: all {group.space.size} points of the space were tried")
        why = for_user(why, maximize=not reading.minimize)
        params = group.decode(z)
        entry = {
            "key": key,
            "params": {
                n: float(group.distributions[n].to_internal_repr(params[n])) for n in params
            },
            # As it will be read again: a resumed study must start from the very same numbers.
            "state": json.loads(json.dumps(state, allow_nan=False)) or None,
            "why": why.to_json(),
        }
        return params, entry, why

    def _refusal(
        self, study: Study, trial: FrozenTrial, trials: Sequence[FrozenTrial], *, arriving: bool
    ) -> Exception | None:
        """Why the trial is beyond the budget: by its number, so that one of several is the last."""
        limit = self.budget.evaluations
        used = spent_of(self.budget, trials, trial)
        used = replace(used, evaluations=used.evaluations - 1, running=used.running - 1)
        finished = used.evaluations - used.running
        if arriving and limit is not None and finished > limit:
            return BudgetError(
                f"the study {study.study_name!r} has {finished} finished trials and the budget is "
                f"{limit} evaluations in all. Allowed: more than there are. Give budget="
                f"{finished + limit}, say, or begin another study."
            )
        waiting = (other for other in trials if other.state == TrialState.WAITING)
        rank = sum(other.number < trial.number for other in (*counted(trials), *waiting))
        beyond = limit is not None and rank >= limit
        if not beyond and not ledger.is_overdrawn(self.budget, used, seconds=used.seconds):
            return None
        account = ledger.describe(self.budget, used, seconds=used.seconds)
        return BudgetSpent(
            f"nothing is left to ask for in the study {study.study_name!r}: {account}. "
            f"Give HeadwaySampler a larger budget to continue."
        )


def optimizer_of(
    study: Study,
    *,
    budget: object = None,
    seed: int | None = None,
    policy: Policy | None = None,
    surrogate: Surrogate | None = None,
    noise: float | Literal["auto"] | None = None,
    design: int | None = None,
    space: object = None,
) -> Optimizer:
    """The headway.Optimizer that knows what the study knows; it asks on from there.

    Settings that are not given are those of the study's HeadwaySampler, or else the defaults; the
    budget then is the trials there are. Without a space the largest group of parameters that are
    modelled together is taken, and a warning names what is left out. A trial that spends nothing
    is a cancelled record. Ids are trial numbers, but for those after a trial without all of the
    parameters, which is left out: `Record.number` is the trial's number always. Values of pruned
    trials are as the sampler learns them. Reasons are there where HeadwaySampler proposed.
    """
    require_one_objective(study)
    sampler = study.sampler if isinstance(study.sampler, HeadwaySampler) else None
    known = sampler._settings if sampler else None
    trials = trials_of(study)
    if budget is None:
        budget = sampler.budget if sampler else max(1, len(counted(trials)))
    own = HeadwaySampler(
        budget,
        seed=seed if seed is not None else known.seed if known else 0,
        policy=policy or (known.policy if known else None),
        surrogate=surrogate or (known.surrogate if known else None),
        noise=noise,
        design=design if design is not None else sampler.design if sampler else None,
        space=space if space is not None else sampler.space if sampler else None,
    )
    given = own.space
    group = largest(study.study_name, trials) if given is None else group_of(given)
    minimize = study.direction != StudyDirection.MAXIMIZE
    reading = Reading.of(trials, own.budget, minimize=minimize, timed=True)
    void = void_of(trials, reading.trials)
    return replayed(reading, group, own.budget, own.settings(group.space.d), void=void)
