"""PySpark notes in the environment that it is connected to a server: the next test begins without that."""

import os
from collections.abc import Iterator
from unittest.mock import patch

import pytest


@pytest.fixture(autouse=True)
def own_environment() -> Iterator[None]:
    """A service has one kind of Spark as long as it lives; these tests have both in one process."""
    with patch.dict(os.environ):
        yield
