"""Tests of the Kokoro container."""
