import optuna

import optunahub


def objective(trial: optuna.Trial) -> float:
    x = trial.suggest_float("x", -5, 10)
    y = trial.suggest_float("y", 0, 15)
    valley = (y - 0.129 * x**2 + 1.6 * x - 6) ** 2
    return valley + 9.6 * (1 - 0.04 * (x + 2) ** 2) ** 2 + x


if __name__ == "__main__":
    module = optunahub.load_module(package="samplers/headway")
    study = optuna.create_study(sampler=module.HeadwaySampler(budget=30))
    study.optimize(objective)  # it stops by itself
    print(study.best_params, study.best_value)
    print(study.trials[12].user_attrs["why"])
