"""The linter: what the source of a container shows without running it."""
