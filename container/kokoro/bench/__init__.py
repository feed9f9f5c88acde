"""Measurements of the container: `python -m container.kokoro.bench --help`."""
