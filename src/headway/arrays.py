"""The array types that every module shares, and random numbers keyed by what they are for."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.intp]


def keyed_rng(seed: int, *keys: int) -> np.random.Generator:
    """A generator that depends on nothing but its keys, so no generator state is ever stored."""
    return np.random.default_rng(np.random.SeedSequence([seed, *keys]))
