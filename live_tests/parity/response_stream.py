"""What the older operations show of the facts: response streams, custom attributes. boto3, no WebSocket."""

from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from contract_tests.profile import InvocationRule
from emulator import facts
from live_tests.parity.ledger import Ledger

__all__ = ["custom_attributes", "response_stream"]

_EVENTS = {"PayloadPart", "ModelStreamError", "InternalStreamFailure"}


def response_stream(runtime: Any, endpoint: str, rule: InvocationRule, ledger: Ledger) -> list[int]:
    """Ask for a good body and a bad one as response streams; return the sizes of the parts of the good one."""
    kind = "application/json" if rule.good.format == "json" else "text/plain; charset=utf-8"

    def ask(body: str) -> Any:
        return runtime.invoke_endpoint_with_response_stream(EndpointName=endpoint, Body=body.encode(), ContentType=kind)

    sizes: list[int] = []
    try:
        names = set()
        for event in ask(rule.good.render("stream"))["Body"]:
            names |= set(event)
            sizes.append(len(event.get("PayloadPart", {}).get("Bytes", b"")))
    except (ClientError, BotoCoreError) as error:
        ledger.refute("rs.path", f"a good body: {error}")
        return sizes
    ledger.confirm("rs.path", f"a good body: {len(sizes)} events")
    ledger.judge("rs.events", f"events {', '.join(sorted(names)) or 'none'}", holds=bool(names) and names <= _EVENTS)
    try:
        begun = ask(rule.bad.render("stream"))["Body"]
        begun.close()
    except ClientError as error:
        code = error.response["Error"]["Code"]
        ledger.judge("rs.before-first-byte", f"a bad body: {code} before any event", holds=code == "ModelError")
    else:
        ledger.refute("rs.before-first-byte", "a bad body: HTTP 200, and the failure inside the stream")
    return sizes


def custom_attributes(runtime: Any, endpoint: str, ledger: Ledger) -> None:
    """Send more custom attributes than are allowed."""
    limit = facts.integer("inv.custom-attributes-max")
    try:
        runtime.invoke_endpoint(EndpointName=endpoint, Body=b"{}", CustomAttributes="a" * (limit + 1))
    except ClientError as error:
        status = error.response["ResponseMetadata"]["HTTPStatusCode"]
        code = error.response["Error"]["Code"]
        seen = f"{limit + 1} characters: HTTP {status} {code}"
        ledger.judge("inv.custom-attributes-max", seen, holds=status == 400)
        ledger.judge("inv.validation", seen, holds=(status, code) == (400, "ValidationError"))
    except BotoCoreError:
        return  # refused by the client itself: nothing is learnt
    else:
        ledger.refute("inv.custom-attributes-max", f"{limit + 1} characters were accepted")
