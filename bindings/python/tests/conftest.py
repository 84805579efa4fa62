"""Shared fixtures."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="session")
def root():
    """The root of the repository."""
    return ROOT
