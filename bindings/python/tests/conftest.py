"""Shared fixtures."""

import gc
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

ROOT = Path(__file__).parents[3]


def pytest_collection_finish():
    # Tests collect garbage some hundred times, and need not look through all loaded modules each time.
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def root():
    """The root of the repository."""
    return ROOT
