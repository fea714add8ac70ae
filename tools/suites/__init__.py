"""Runners of other people's test suites, each given a checkout by its path and never a copy of it in this tree."""
