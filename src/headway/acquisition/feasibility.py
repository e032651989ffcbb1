"""The log-probability that a constraint is met, for constrained acquisitions.

Notation: mu and sigma, shape (...), are the posterior mean and standard deviation of a constraint
c, which is met when c <= 0; sigma > 0. The constrained expected improvement of Gardner et al.
(2014) eq. 5 is the sum of `log_ei` and one such term for each constraint.
"""

from headway.acquisition.improvement import WithSlopes, log_poi
from headway.arrays import Array


def log_feasible(
    mu: Array,  # (...)
    sigma: Array,  # (...)
) -> WithSlopes:
    """log Phi(-mu / sigma), the log-probability of c <= 0, with its derivatives."""
    return log_poi(mu, sigma, best=0.0)
