"""A regression tuned in 40 trainings, in an Optuna study: Headway's sampler beside Optuna's own.

    python examples/optuna_study.py

Which kernel a kernel ridge regression has decides which parameters there are; the study learns that
from its trials. Needs `pip install ".[optuna,sklearn]"`.
"""

from __future__ import annotations

import argparse
import statistics
import warnings

import optuna
from sklearn.compose import TransformedTargetRegressor
from sklearn.datasets import load_diabetes
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from headway.optuna import HeadwaySampler

X, Y = load_diabetes(return_X_y=True)
FOLDS = KFold(5, shuffle=True, random_state=0)


def error(trial: optuna.Trial) -> float:
    """The root mean squared error of the disease's progression, cross-validated."""
    kernel = trial.suggest_categorical("kernel", ["linear", "poly", "rbf", "laplacian"])
    settings = {"kernel": kernel, "alpha": trial.suggest_float("alpha", 1e-4, 1e2, log=True)}
    if kernel != "linear":
        settings["gamma"] = trial.suggest_float("gamma", 1e-5, 1e0, log=True)
    if kernel == "poly":
        settings["degree"] = trial.suggest_int("degree", 2, 4)
        settings["coef0"] = trial.suggest_float("coef0", 0.0, 2.0)
    model = TransformedTargetRegressor(
        make_pipeline(StandardScaler(), KernelRidge(**settings)), transformer=StandardScaler()
    )
    scores = cross_val_score(model, X, Y, cv=FOLDS, scoring="neg_root_mean_squared_error")
    return float(-scores.mean())


def tuned(sampler: optuna.samplers.BaseSampler, budget: int) -> optuna.Study:
    study = optuna.create_study(sampler=sampler)
    study.optimize(error, n_trials=budget)
    return study


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--budget", type=int, default=40)
    parser.add_argument("--seeds", type=int, default=3)
    arguments = parser.parse_args()
    optuna.logging.set_verbosity(optuna.logging.ERROR)  # of what is sampled independently at first
    warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
    budget, seeds = arguments.budget, range(arguments.seeds)

    study = tuned(HeadwaySampler(budget, seed=0), budget)
    print(f"{study.best_value:.4f} after {len(study.trials)} trainings")
    print(study.best_params)
    print("why:", study.best_trial.user_attrs.get("why", "sampled at random"))
    print()
    rivals = {
        "HeadwaySampler": lambda seed: HeadwaySampler(budget, seed=seed),
        "TPESampler": lambda seed: optuna.samplers.TPESampler(
            seed=seed, multivariate=True, group=True
        ),
        "RandomSampler": lambda seed: optuna.samplers.RandomSampler(seed=seed),
    }
    print(f"error after {budget} trainings, seeds 0 to {seeds[-1]}:")
    for name, make in rivals.items():
        found = [tuned(make(seed), budget).best_value for seed in seeds]
        values = "  ".join(f"{value:.4f}" for value in found)
        print(f"  {name:15} {values}   mean {statistics.fmean(found):.4f}")


if __name__ == "__main__":
    main()
