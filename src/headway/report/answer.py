"""The answer in words: what to use, how sure the model is, what was spent, what failed and where.

Each sentence is made from numbers of the run alone; nothing is said that was not computed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from headway import budget as ledger
from headway.arrays import Array
from headway.history import Record, violation
from headway.optimizer import Optimizer
from headway.outlook import Optima, Outlook
from headway.parameters import Integer, Real
from headway.plots.axes import shown
from headway.plots.hindsight import predictions
from headway.plots.svg import cut, number, typeset
from headway.report.failures import kinds, where

# So near to the end of its range a value is at the end, as a share of the range.
_AT_THE_END = 1e-3
_ENOUGH = 8  # predictions, before their share says something
# Measured after 50 evaluations on 62 functions: docs/report.md.
_COVERAGE = "(On test functions the gain was larger than that in one run of six.)"


@dataclass(frozen=True, slots=True)
class Paragraph:
    """A heading of a word or two, and sentences."""

    heading: str
    text: str


@dataclass(frozen=True, slots=True)
class Answer:
    """What stands at the top of the report."""

    headline: str
    record: Record | None  # what to use; None where nothing has a value
    paragraphs: tuple[Paragraph, ...]


def answer(optimizer: Optimizer, outlook: Outlook | None, optima: Optima | None) -> Answer:
    """The answer of a run as it stands."""
    history = optimizer.history
    record = None if outlook is None else history[outlook.trial]
    parts = [
        ("Value", "" if record is None or outlook is None else _value(optimizer, outlook, record)),
        (
            "How sure",
            "" if record is None or outlook is None else _sure(optimizer, outlook, record),
        ),
        ("What more could bring", "" if outlook is None else _more(optima)),
        ("Ends of ranges", "" if record is None else _range(optimizer, record)),
        ("Spent", _spent(optimizer)),
        ("Failed", _failed(optimizer)),
    ]
    kept = tuple(Paragraph(heading, text) for heading, text in parts if text)
    return Answer(_headline(optimizer, outlook, record), record, kept)


def plus_minus(mean: float, sd: float) -> str:
    """A number and its spread, both to the spread's second digit."""
    if not (math.isfinite(mean) and math.isfinite(sd)) or sd <= 0:
        return number(mean, 6)
    digits = 1 - math.floor(math.log10(sd))
    size = math.floor(math.log10(abs(mean))) if mean else 0
    if not 0 <= digits <= 9 or size > 7:
        return f"{number(mean, max(3, min(12, size + digits + 1)))} ± {number(sd, 2)}"
    return f"{typeset(f'{mean + 0.0:.{digits}f}')} ± {sd:.{digits}f}"


def _headline(optimizer: Optimizer, outlook: Outlook | None, record: Record | None) -> str:
    done = len(optimizer.history.finished)
    if not done:
        return "No trial has finished yet."
    if record is None or outlook is None:
        return (
            f"Nothing has a value: {'the one trial' if done == 1 else f'all {done} trials'} failed."
        )
    if not record.feasible:
        return f"No trial met the constraints. Trial {record.number} comes nearest."
    if outlook.noisy:
        return f"Use trial {record.number}: about {_expected(outlook, outlook.centre)}"
    return f"Use trial {record.number}: {number(record.value or 0.0, 6)}"


def _expected(outlook: Outlook, z: Array) -> str:  # (d,)
    there = outlook.predict(z[None])
    return plus_minus(float(there.mean[0]), float(there.sd[0]))


def _value(optimizer: Optimizer, outlook: Outlook, record: Record) -> str:
    told = [r for r in optimizer.history.finished if r.feasible]
    word = "highest" if optimizer.direction == "maximize" else "lowest"
    value = number(record.value or 0.0, 6)
    if not record.feasible:
        least = f"it violates them by {number(violation(record), 3)} in sum"
        return f"Its value is {value}; {least}. It is no solution, only the nearest to one."
    met = " that met the constraints" if optimizer.history.k else ""
    best = optimizer.best
    if best is None or best.value == record.value:
        return f"The {word} of {_count(len(told), 'value')}{met}, told by trial {record.number}."
    expected = _expected(outlook, optimizer.space.encode(best.params))
    luck = number(best.value or 0.0, 6)
    return (
        f"Trial {record.number} told {value}. The values are noisy, so this is the trial that the "
        f"model expects most of, not the {word} value told: that was {luck} from "
        f"trial {best.number}, where the model expects {expected}."
    )


def _sure(optimizer: Optimizer, outlook: Outlook, record: Record) -> str:
    text = f"The model expects {_expected(outlook, outlook.centre)} there (one standard deviation)"
    text += ", noise left out." if outlook.noisy else "; it takes the values as free of noise."
    if record.constraints:
        told = ", ".join(number(c, 3) for c in record.constraints)
        text += f" Constraints told, met at 0 or below: {told}."
    if outlook.doubtful and record.feasible:
        odds = float(outlook.feasible(outlook.centre[None])[0])
        text += f" They are noisy; the chance that all are met there is {_percent(odds)}."
    made = predictions(optimizer, outlook)
    if len(made) >= _ENOUGH:
        one, two = (sum(p.within(k) for p in made) / len(made) for k in (1, 2))
        text += (
            f" Of the {len(made)} values it predicted beforehand, {_percent(two)} came within two "
            f"standard deviations (95\u00a0% would be right): {_judged(one, two, len(made))}"
        )
    return text


def _judged(one: float, two: float, n: int) -> str:
    """In words, where the shares are further from 0.68 and 0.95 than chance would bring them."""
    if two < 0.95 - 2.0 * math.sqrt(0.95 * 0.05 / n):
        return "it was surer of itself than it should have been."
    if one > 0.68 + 2.0 * math.sqrt(0.68 * 0.32 / n):
        return "it was more careful than it needed to be."
    return "about as sure as it should be."


def _more(optima: Optima | None) -> str:
    if optima is None:
        return "Nothing can be said of a gain before a trial meets every constraint."
    middle, most = optima.gain(0.5), optima.gain(0.95)
    if most <= 0:
        return "If the model is right, there is nothing better to be found."
    cases = f"{len(optima.gains)} plausible cases"
    if middle <= 0:
        text = f"in most of {cases} nothing better is left to be found"
    else:
        text = f"the optimum is better than this by {number(middle, 2)}, the median of {cases}"
    return (
        f"If the model is right, {text}; in one of twenty the gain is more than "
        f"{number(most, 2)}. {_COVERAGE}"
    )


def _range(optimizer: Optimizer, record: Record) -> str:
    """Parameters whose recommended value is the end of their range."""
    ends = []
    for name, value in record.point:
        parameter = optimizer.space.parameters[optimizer.space.names.index(name)]
        if not isinstance(parameter, Real | Integer):
            continue
        share = _share(parameter, value)
        if share < _AT_THE_END or share > 1 - _AT_THE_END:
            ends.append(f"{cut(name, 40)} is at its {'lower' if share < 0.5 else 'upper'} end")
    if not ends:
        return ""
    text = ends[0] if len(ends) == 1 else f"{', '.join(ends[:-1])} and {ends[-1]}"
    return f"{text}: where a wider range makes sense, it may hold something better."


def _share(parameter: Real | Integer, value: Any) -> float:
    low, high = float(parameter.low), float(parameter.high)
    if parameter.log:
        return (math.log(value) - math.log(low)) / (math.log(high) - math.log(low))
    return float(value / 2 - low / 2) / (high / 2 - low / 2)


def _spent(optimizer: Optimizer) -> str:
    history = optimizer.history
    used = ledger.spent(history)
    account = ledger.describe(optimizer.budget, used, seconds=used.seconds)
    text = f"{account[:1].upper()}{account[1:]}. "
    if ledger.is_spent(optimizer.budget, used, seconds=used.seconds):
        text += "The budget is used up."
    elif optimizer.done:
        text += f"Every point of the space is evaluated, all {optimizer.space.size}."
    else:
        text += "Some of the budget is left."
    extra = []
    if optimizer.budget.seconds is None and used.seconds > 0:
        extra.append(f"it took {ledger.duration(used.seconds)}")
    if optimizer.budget.cost is None and used.cost > 0:
        extra.append(f"it cost {number(used.cost)}")
    if extra:
        joined = " and ".join(extra)
        text += f" {joined[:1].upper()}{joined[1:]} in all."
    return text


def _failed(optimizer: Optimizer) -> str:
    done = optimizer.history.finished
    failed = [record for record in done if record.status == "failed"]
    if not failed:
        return ""
    found = kinds(failed)
    text = f"{len(failed)} of {len(done)} trials failed. "
    if len(found) == 1 and len(failed) > 1:
        same = len({record.error for record in failed}) == 1
        text += f"All for one reason{'' if same else ', but for its numbers'}: "
        text += _quoted(found[0][0])
    else:
        text += " ".join(f"{count} ×: {_quoted(error)}" for error, count in found[:3])
        rest = sum(count for _, count in found[3:])
        text += f" And {rest} for other reasons." if rest else ""
    place = where(optimizer.space, done)
    if place is not None:
        text += (
            f" Where: {place.failed_inside} of the {place.failed} failures have {place.text}, "
            f"and {place.others_inside} of the {place.others} others."
        )
    return text


def _quoted(text: str) -> str:
    return f"“{cut(text, 160)}”."


def _percent(share: float) -> str:
    if 0.99 < share < 1.0:
        return "more than 99\u00a0%"
    return "less than 1\u00a0%" if 0.0 < share < 0.01 else f"{100 * share:.0f} %"


def _count(n: int, noun: str) -> str:
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"


def parameters(record: Record) -> list[tuple[str, str]]:
    """Names and values of the point, for a reader."""
    return [(name, shown(value)) for name, value in record.point]
