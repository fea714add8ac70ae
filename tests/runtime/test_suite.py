"""The suite of every device, on the host devices."""

from tests.runtime.suite import *  # noqa: F403
