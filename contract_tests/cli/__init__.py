"""The command ``contract``."""
