"""The two CDK apps. Importing this starts Node: see :mod:`deploy.synthesis`."""

from pathlib import Path

from aws_cdk import App, BootstraplessSynthesizer, Validations
from cdk_nag import AwsSolutionsChecks

from deploy.settings import Settings

__all__ = ["agent_app", "speech_app"]


def speech_app(settings: Settings, directory: Path) -> App:
    """Make the app with the stacks ``speech-foundation`` and ``speech-endpoint``."""
    from deploy.endpoint import EndpointStack  # noqa: PLC0415  # each of these imports takes a second
    from deploy.foundation import FoundationStack  # noqa: PLC0415  # slow

    app = _app(directory)
    FoundationStack(app, settings)
    EndpointStack(app, settings)
    return app


def agent_app(settings: Settings, directory: Path) -> App:
    """Make the app with the stack ``agent-runtime``."""
    from deploy.agent import AgentStack  # noqa: PLC0415  # slow

    app = _app(directory)
    AgentStack(app, settings)
    return app


def _app(directory: Path) -> App:
    """An app whose stacks hold no assets, so that the account needs no ``cdk bootstrap``."""
    app = App(outdir=str(directory), analytics_reporting=False, default_stack_synthesizer=BootstraplessSynthesizer())
    Validations.of(app).add_plugins(AwsSolutionsChecks())
    return app
