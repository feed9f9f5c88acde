"""Options, markers and targets of the whole project's tests."""

pytest_plugins = ["contract_tests.plugin", "live_tests.plugin"]
