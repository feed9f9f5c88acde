"""What AgentCore and Bedrock show of the facts by refusing what is wrong: nothing of it is billed. boto3."""

import uuid
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from emulator import facts
from live_tests.parity.ledger import Ledger

__all__ = ["agent_refusals", "agent_turn", "no_model"]

_NO_MODEL = "no-such-model.sagemaker-bidi"


def _told(error: ClientError) -> tuple[int, str, str]:
    found = error.response["Error"]
    return error.response["ResponseMetadata"]["HTTPStatusCode"], found["Code"], found.get("Message", "")


def no_model(bedrock: Any, ledger: Ledger) -> None:
    """Ask both operations of Bedrock for a model that is none. An account that may not ask learns nothing."""
    asked = {"modelId": _NO_MODEL, "messages": [{"role": "user", "content": [{"text": "x"}]}]}
    for path, operation in (("converse-path", bedrock.converse), ("stream-path", bedrock.converse_stream)):
        try:
            stream = operation(**asked).get("stream")
            if stream is not None:
                stream.close()
            # what takes every model for known says nothing of the refusal
            ledger.confirm(f"bedrock.{path}", f"{_NO_MODEL!r} was answered")
            ledger.confirm("bedrock.sigv4", "a request that boto3 signed was answered")
        except ClientError as error:
            status, code, message = _told(error)
            seen = f"{_NO_MODEL!r}: HTTP {status} {code} {message!r}"
            if code == "AccessDeniedException":
                return
            ledger.judge(f"bedrock.{path}", seen, holds=(status, code) == (400, "ValidationException"))
            ledger.judge("bedrock.model-id-text", seen, holds=message == facts.text("bedrock.model-id-text"))
            ledger.judge("bedrock.sigv4", seen, holds=status != 403)
        except BotoCoreError:
            return


def agent_turn(runtime: str, sessions: list[tuple[str, str | None]], ledger: Ledger) -> None:
    """Enter what turns show that came to their end; ``sessions`` are the ids that were asked for and answered."""
    holds = all(asked == answered for asked, answered in sessions)
    ledger.judge("agent.session-id", f"asked for and answered: {sessions[:1]}", holds=bool(sessions) and holds)
    seen = "boto3's invoke_agent_runtime was answered to the end"
    for name in ("invoke-path", "sigv4", "qualifier", "container-path", "ping"):
        ledger.confirm(f"agent.{name}", seen)
    for name in ("arn", "id", "name"):
        ledger.confirm(f"agent.{name}", f"the runtime is {runtime}")


def agent_refusals(client: Any, runtime: str, ledger: Ledger) -> None:
    """Ask for a qualifier that is none, with a payload that no agent takes, and for the end of a session."""
    session = f"probe-{uuid.uuid4()}"

    def ask(**more: Any) -> Any:
        return client.invoke_agent_runtime(agentRuntimeArn=runtime, runtimeSessionId=session, **more)

    try:
        ask(qualifier="nosuchqualifier", payload=b"{}")["response"].close()
    except ClientError as error:
        status, code, message = _told(error)
        holds = (status, code) == (404, "ResourceNotFoundException")
        ledger.judge("agent.unknown-text", f"an unknown qualifier: HTTP {status} {code} {message!r}", holds=holds)
    try:
        ask(payload=b"this is no JSON", contentType="application/json", accept="text/event-stream")["response"].close()
    except ClientError as error:
        status, code, message = _told(error)
        seen = f"a payload that is no JSON: HTTP {status} {code} {message!r}"
        ledger.judge("agent.error", seen, holds=(status, code) == (424, "RuntimeClientError"))
        begin = facts.text("agent.error-text").partition("{status}")[0]
        ledger.judge("agent.error-text", seen, holds=message.startswith(begin))
    try:
        client.stop_runtime_session(agentRuntimeArn=runtime, runtimeSessionId=session)
        ledger.confirm("agent.stop-path", "StopRuntimeSession was answered")
    except ClientError as error:
        status, code, message = _told(error)
        # the session may never have begun: that too is an answer of this operation
        holds = (status, code) == (404, "ResourceNotFoundException")
        ledger.judge("agent.stop-path", f"HTTP {status} {code} {message!r}", holds=holds)
