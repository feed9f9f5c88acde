"""Options, markers and targets of the whole project's tests."""

from importlib.util import find_spec

pytest_plugins = ["contract_tests.plugin"]
if find_spec("boto3") is not None:  # the contract checks of a local container do without it
    pytest_plugins.append("live_tests.plugin")
