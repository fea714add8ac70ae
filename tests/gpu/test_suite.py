"""The suite of every device, on the first GPU."""

from tests.runtime.suite import *  # noqa: F403
