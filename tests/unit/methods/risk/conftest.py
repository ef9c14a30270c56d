"""What all tests of risk measures want: loops that are loaded, and no verdict on the speed of single examples."""

from collections.abc import Iterator

import pytest
from hypothesis import settings

from sdcgate.methods.risk import keys

settings.register_profile("patient", deadline=None)
settings.load_profile("patient")


@pytest.fixture(scope="session", autouse=True)
def _warm() -> Iterator[None]:
    keys.warm_up()
    yield
