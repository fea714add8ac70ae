"""`python -m drawloom` is the `drawloom` command."""

from drawloom.cli.main import main

main()
