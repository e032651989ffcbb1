"""The sampler passes the tests that Optuna has for samplers, as they are."""

from __future__ import annotations

from collections.abc import Callable

import pytest

pytest.importorskip("optuna")

from optuna.samplers import BaseSampler
from optuna.testing import pytest_samplers

from headway.optuna import HeadwaySampler


class TestHeadwaySampler(
    pytest_samplers.BasicSamplerTestCase,
    pytest_samplers.RelativeSamplerTestCase,
    pytest_samplers.SingleOnlySamplerTestCase,
):
    @pytest.fixture
    def sampler(self) -> Callable[[], BaseSampler]:
        return lambda: HeadwaySampler(100, seed=0)
