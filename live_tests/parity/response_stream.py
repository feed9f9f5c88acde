"""What the older operations show of the facts: response streams, headers, errors. boto3, no WebSocket."""

from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from contract_tests.profile import InvocationRule
from emulator import facts
from live_tests.parity.ledger import Ledger

__all__ = ["body_limit", "custom_attributes", "one_invocation", "response_stream"]

_EVENTS = {"PayloadPart", "ModelStreamError", "InternalStreamFailure"}


def _kind(rule: InvocationRule) -> str:
    return "application/json" if rule.good.format == "json" else "text/plain; charset=utf-8"


def response_stream(runtime: Any, endpoint: str, rule: InvocationRule, ledger: Ledger) -> list[int]:
    """Ask for a good body and a bad one as response streams; return the sizes of the parts of the good one."""

    def ask(body: str) -> Any:
        return runtime.invoke_endpoint_with_response_stream(
            EndpointName=endpoint, Body=body.encode(), ContentType=_kind(rule)
        )

    sizes: list[int] = []
    try:
        names = set()
        answer = ask(rule.good.render("stream"))
        for event in answer["Body"]:
            names |= set(event)
            sizes.append(len(event.get("PayloadPart", {}).get("Bytes", b"")))
    except (ClientError, BotoCoreError) as error:
        ledger.refute("rs.path", f"a good body: {error}")
        return sizes
    ledger.confirm("rs.path", f"a good body: {len(sizes)} events")
    ledger.judge("rs.events", f"events {', '.join(sorted(names)) or 'none'}", holds=bool(names) and names <= _EVENTS)
    found = {name: answer.get(name) for name in ("ContentType", "InvokedProductionVariant")}
    ledger.judge("rs.headers", f"the response names {found}", holds=all(found.values()))
    if max(sizes, default=0) > min(_splits()):
        seen = f"parts of up to {max(sizes):,} bytes"
        ledger.judge("rs.no-alignment", seen, holds=max(sizes) <= max(_splits()))
    try:
        begun = ask(rule.bad.render("stream"))["Body"]
        begun.close()
    except ClientError as error:
        code = error.response["Error"]["Code"]
        ledger.judge("rs.before-first-byte", f"a bad body: {code} before any event", holds=code == "ModelError")
    else:
        ledger.refute("rs.before-first-byte", "a bad body: HTTP 200, and the failure inside the stream")
    return sizes


def _splits() -> list[int]:
    value = facts.get("rs.no-alignment").value
    return [int(size) for size in value] if isinstance(value, list) else [0]


def one_invocation(runtime: Any, endpoint: str, rule: InvocationRule, variants: frozenset[str], ledger: Ledger) -> None:
    """Send a good body with many headers, and a bad one."""
    try:
        answer = runtime.invoke_endpoint(
            EndpointName=endpoint,
            Body=rule.good.render("headers").encode(),
            ContentType=_kind(rule),
            Accept="*/*",
            CustomAttributes="probe=1",
            InferenceId="probe-1",
            TargetVariant=next(iter(sorted(variants))),
        )
        answer["Body"].close()
    except (ClientError, BotoCoreError) as error:
        ledger.refute("inv.headers", f"ContentType, Accept, CustomAttributes, InferenceId, TargetVariant: {error}")
    else:
        named = answer.get("InvokedProductionVariant")
        ledger.confirm("inv.headers", "ContentType, Accept, CustomAttributes, InferenceId and TargetVariant are taken")
        ledger.judge("inv.response", f"the response names the variant {named!r}", holds=named in variants)
    try:
        runtime.invoke_endpoint(EndpointName=endpoint, Body=rule.bad.render("bad").encode(), ContentType=_kind(rule))
    except ClientError as error:
        code, message = error.response["Error"]["Code"], error.response["Error"]["Message"]
        status = error.response["ResponseMetadata"]["HTTPStatusCode"]
        ledger.judge("inv.errors", f"HTTP {status} {code}", holds=(status, code) == (424, "ModelError"))
        if code == "ModelError":
            name = facts.text("inv.container-name")
            ledger.judge("inv.container-name", f"the text is {message[:120]!r}", holds=f"from {name} " in message)
    except BotoCoreError:
        return


def body_limit(runtime: Any, endpoint: str, ledger: Ledger) -> None:
    """Send one byte more than the service model allows, which users say is accepted."""
    size = facts.integer("inv.body-max-model") + 1
    try:
        runtime.invoke_endpoint(EndpointName=endpoint, Body=b" " * size, ContentType="application/octet-stream")
    except ClientError as error:
        code = error.response["Error"]["Code"]
        seen = f"{size:,} bytes: HTTP {error.response['ResponseMetadata']['HTTPStatusCode']} {code}"
        # a ModelError is the container's own word: the body has reached it
        ledger.judge("inv.body-max-model", seen, holds=code == "ModelError")
    except BotoCoreError:
        return
    else:
        ledger.confirm("inv.body-max-model", f"{size:,} bytes were accepted")


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
