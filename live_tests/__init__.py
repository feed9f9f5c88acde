"""The contract checks and the measurements against a deployed endpoint and agent (``pytest -m live``)."""
