"""How often what more could bring was as the report says: the numbers of docs/decisions/plots.md.

python -m experiments.outlook_coverage      from the repository's root; about a minute

The true gain is the best value told minus the known minimum. It should lie below the 95 % level of
the model's gains in 95 % of the runs, and below their median in half.
"""

from __future__ import annotations

import logging

import headway
from bench.functions import Problem, bbob, classic, names, random_regret
from headway.outlook import Outlook

BUDGET = 50
# A gain of a millionth of a random point's regret is none.
NOTHING = 1e-6


def problems() -> list[Problem]:
    """The classics, and bbob's functions of 2 and 5 parameters, first instance."""
    found = [classic(name) for name in names("classics")]
    for d in (2, 5):
        found += [bbob(int(name.lstrip("f")), d, 1) for name in names("bbob", d)]
    return found


def covered(problem: Problem) -> list[tuple[bool, bool]]:
    """After half of the budget and after all of it: below the 95 % level, below the median."""
    run = headway.Optimizer(problem.bounds, BUDGET)
    found = []
    while not run.done:
        trial = run.ask()
        run.tell(trial, problem(trial.x))
        if len(run.history) not in (BUDGET // 2, BUDGET):
            continue
        facts = run.history.facts("minimize")
        outlook = Outlook.of(facts, run.space, run.settings, direction="minimize")
        optima = None if outlook is None else outlook.optima()
        if optima is None or run.best is None or run.best.value is None:
            raise RuntimeError(f"{problem.name} has no value")
        true = run.best.value - problem.minimum - NOTHING * random_regret(problem)
        found.append((true <= optima.gain(0.95), true <= optima.gain(0.5)))
    return found


def main() -> None:
    """Run them all, and print the shares."""
    logging.getLogger("headway").setLevel(logging.ERROR)
    rows = [covered(problem) for problem in problems()]
    for when, name in enumerate((f"{BUDGET // 2} of {BUDGET}", f"{BUDGET} of {BUDGET}")):
        high = sum(row[when][0] for row in rows) / len(rows)
        middle = sum(row[when][1] for row in rows) / len(rows)
        print(f"{name}: {len(rows)} runs, below 95 %: {high:.0%}, below the median: {middle:.0%}")


if __name__ == "__main__":
    main()
