"""Measurements of the container: `python -m container.kokoro.bench tts|throughput|ping|leaks`."""
