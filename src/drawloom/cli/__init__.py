"""The `drawloom` command: one file per subcommand, each exposing a click command named `command`."""
