"""What all tests of risk measures want: loops that are loaded, and time for single examples."""

import pytest
from hypothesis import settings

from sdcgate.methods.risk import keys

settings.register_profile("patient", deadline=None)
settings.load_profile("patient")


@pytest.fixture(scope="session", autouse=True)
def _warm() -> None:
    keys.warm_up()
