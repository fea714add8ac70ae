"""Compiled kernels on the host devices."""

from tests.runtime.compiled_suite import *  # noqa: F403
