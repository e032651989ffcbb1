"""Pictures of a run, each a function of an Optimizer that returns a `Figure`.

    import headway.plots

    figure = headway.plots.convergence(optimizer)
    figure.save("convergence.svg")  # a notebook draws the figure itself

The optimizer is your own, `result.optimizer` of a `minimize`, `headway.load(path)` of a checkpoint,
or `headway.optuna.optimizer_of(study)`. The numbers behind the pictures are in `headway.outlook`.
"""

from headway.plots.hindsight import calibration
from headway.plots.landscape import path
from headway.plots.narrowing import schedule
from headway.plots.optimum import belief
from headway.plots.profiles import slices
from headway.plots.progress import convergence
from headway.plots.shares import importance
from headway.plots.spending import ledger
from headway.plots.svg import Figure
from headway.plots.trials import parallel

__all__ = [
    "Figure",
    "belief",
    "calibration",
    "convergence",
    "importance",
    "ledger",
    "parallel",
    "path",
    "schedule",
    "slices",
]
