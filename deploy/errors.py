"""What goes wrong and can be put right: the message is for the person at the terminal."""

__all__ = ["DeployError"]


class DeployError(Exception):
    """Raised with what happened, what was expected and what to do."""
