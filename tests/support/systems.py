"""Marks for tests that some operating systems cannot run."""

import os

import pytest

needs_posix = pytest.mark.skipif(os.name != "posix", reason="needs fork, POSIX signals or a shell")
