"""Compiled kernels on the first GPU."""

from tests.runtime.compiled_suite import *  # noqa: F403
