"""The model of the objective: a Gaussian process of warped values."""

from headway.surrogate.model import Data, Model, Surrogate, fit_model

__all__ = ["Data", "Model", "Surrogate", "fit_model"]
