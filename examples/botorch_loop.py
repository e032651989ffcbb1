"""A standard loop of BoTorch, and the two lines that give it Headway's local term."""

import torch
from botorch.acquisition import LogExpectedImprovement
from botorch.fit import fit_gpytorch_mll
from botorch.models import SingleTaskGP
from botorch.models.transforms import Normalize
from botorch.optim import optimize_acqf
from botorch.test_functions import Hartmann
from botorch.utils.sampling import draw_sobol_samples
from gpytorch.mlls import ExactMarginalLogLikelihood

from headway.botorch import AnnealedAcquisition, nearness_of

DESIGN, BUDGET = 7, 40
torch.manual_seed(0)
problem = Hartmann(dim=6, negate=True, dtype=torch.double)  # BoTorch maximises
bounds = problem.bounds
X = draw_sobol_samples(bounds, n=DESIGN, q=1, seed=0).squeeze(-2)
Y = problem(X).unsqueeze(-1)
for step in range(DESIGN, BUDGET):
    model = SingleTaskGP(X, Y, input_transform=Normalize(6, bounds=bounds))
    fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
    acqf = LogExpectedImprovement(model, best_f=Y.max())
    near = nearness_of(model, X, bounds, tau=(step - DESIGN) / (BUDGET - DESIGN))  # <- Headway
    acqf = AnnealedAcquisition(acqf, near)  # <- Headway
    x, _ = optimize_acqf(acqf, bounds, q=1, num_restarts=4, raw_samples=128)
    X, Y = torch.cat([X, x]), torch.cat([Y, problem(x).unsqueeze(-1)])
print(f"after {len(Y)} evaluations: {Y.max():.6f}, regret {problem.optimal_value - Y.max():.6f}")
