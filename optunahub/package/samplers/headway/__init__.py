from headway.optuna import HeadwaySampler

__all__ = ["HeadwaySampler"]
