import re
from urllib.parse import quote

import pytest

from emulator.agentcore.request import AgentRequest, Operation, check_size, failed, response_headers
from emulator.agentcore.runtimes import AgentRuntimes
from emulator.wire.exceptions import RequestError

ARN = "arn:aws:bedrock-agentcore:eu-west-1:000000000000:runtime/voice-emulator01"
SESSION = "x-amzn-bedrock-agentcore-runtime-session-id"
SESSION_PARAMETER = "X-Amzn-Bedrock-AgentCore-Runtime-Session-Id"
ID = "s" * 33


def path(agent: str = ARN, what: str = "invocations", query: str = "") -> str:
    return f"/runtimes/{quote(agent, safe='')}/{what}{query}"


def parse(target: str, *headers: tuple[str, str], operation: Operation = Operation.INVOKE) -> AgentRequest:
    return AgentRequest.parse(operation, "POST", target, headers, "request-1")


@pytest.mark.parametrize(
    ("target", "operation"),
    [
        (path(query="?qualifier=DEFAULT"), Operation.INVOKE),
        (path(what="stopruntimesession"), Operation.STOP_SESSION),
        (f"/runtimes/{ARN}/invocations", None),  # a slash that is not encoded is another path
        (path(what="ws"), Operation.WEBSOCKET),
        (path(what="ws/shells"), None),
        ("/runtimes/", None),
        ("/endpoints/ep/invocations", None),
    ],
)
def test_the_path_names_the_operation(target: str, operation: Operation | None) -> None:
    assert Operation.of(target) is operation


def test_the_agent_is_named_by_its_arn_or_by_its_id_with_an_account() -> None:
    by_arn = parse(path(query="?qualifier=prod"), (SESSION, ID))
    assert (by_arn.agent, by_arn.account, by_arn.qualifier) == ("voice-emulator01", "000000000000", "prod")
    by_id = parse(path("voice-emulator01", query="?accountId=123456789012"), (SESSION, ID))
    assert (by_id.agent, by_id.account, by_id.qualifier) == ("voice-emulator01", "123456789012", "DEFAULT")


def test_a_session_id_is_drawn_where_none_is_given() -> None:
    drawn = parse(path()).session
    assert len(drawn) >= 33
    assert drawn != parse(path()).session


@pytest.mark.parametrize(
    ("target", "headers", "message"),
    [
        (path(), [(SESSION, "s" * 32)], "'runtimeSessionId' .* length greater than or equal to 33"),
        (path(), [(SESSION, "s" * 257)], "'runtimeSessionId' .* length less than or equal to 256"),
        (path(), [(SESSION, f"{ID}é")], "'runtimeSessionId' .* printable ASCII"),
        (path(query=f"?{SESSION_PARAMETER}={ID}%0Ax"), [], r"sss\\nx' at 'runtimeSessionId' .* printable ASCII"),
        (path(query=f"?{SESSION_PARAMETER}=+{ID}"), [], "'runtimeSessionId' .* without a space at its ends"),
        (path(), [(SESSION, ID), ("baggage", "b" * 8193)], "'baggage' .* less than or equal to 8192"),
        (path("arn:aws:bedrock-agentcore:x:1:agent/y"), [], "'agentRuntimeArn' .* regular expression"),
        (path("voice-emulator01"), [], "needs the query parameter accountId"),
        (path("voice"), [], "'agentRuntimeArn' .* be an ARN, or an id"),
    ],
)
def test_what_breaks_the_model_is_a_validation_exception(
    target: str, headers: list[tuple[str, str]], message: str
) -> None:
    with pytest.raises(RequestError, match=message) as caught:
        parse(target, *headers)
    assert (caught.value.status, caught.value.type) == (400, "ValidationException")


def test_a_session_cannot_be_stopped_without_its_id() -> None:
    with pytest.raises(RequestError, match="runtimeSessionId"):
        parse(path(what="stopruntimesession"), operation=Operation.STOP_SESSION)


def test_the_container_gets_what_is_documented_and_nothing_else() -> None:
    request = parse(
        path(),
        (SESSION, ID),
        ("content-type", "application/json"),
        ("accept", "text/event-stream"),
        ("x-amzn-bedrock-agentcore-runtime-user-id", "u1"),
        ("x-amzn-bedrock-agentcore-runtime-custom-tenant", "t1"),
        ("traceparent", "00-1-2-01"),
        ("authorization", "secret"),
        ("amz-sdk-invocation-id", "1"),
        ("user-agent", "boto3"),
        ("x-mine", "1"),
    )
    assert {name.lower(): value for name, value in request.container_headers} == {
        "content-type": "application/json",
        "accept": "text/event-stream",
        "x-amzn-bedrock-agentcore-runtime-user-id": "u1",
        "x-amzn-bedrock-agentcore-runtime-custom-tenant": "t1",
        "traceparent": "00-1-2-01",
        SESSION: ID,
        "x-amzn-bedrock-agentcore-runtime-request-id": "request-1",
    }


def test_the_client_gets_of_the_container_s_head_what_the_api_names() -> None:
    head = response_headers(ID, [("content-type", "text/event-stream"), ("baggage", "b"), ("server", "uvicorn")])
    assert head == [("content-type", "text/event-stream"), (SESSION, ID), ("baggage", "b")]


def test_a_container_s_error_has_the_reported_text() -> None:
    error = failed(503)
    assert (error.status, error.type) == (424, "RuntimeClientError")
    assert error.message == (
        "Received error (503) from runtime. Please check your CloudWatch logs for more information."
    )


def test_a_payload_has_a_limit() -> None:
    check_size(100_000_000)
    with pytest.raises(RequestError, match="100000000 are allowed"):
        check_size(100_000_001)


def test_agents_are_found_by_id_account_and_qualifier() -> None:
    runtimes = AgentRuntimes({"voice": "http://127.0.0.1:8080"})
    assert re.fullmatch(
        r"arn:aws:bedrock-agentcore:[a-z0-9-]+:\d{12}:runtime/voice-[a-zA-Z0-9]{10}", runtimes.arn("voice")
    )
    assert runtimes.find(parse(path(ARN))) == "http://127.0.0.1:8080"
    for target in (
        path(query="?qualifier=prod"),
        path("arn:aws:bedrock-agentcore:eu-west-1:123456789012:runtime/voice-emulator01"),
        path("arn:aws:bedrock-agentcore:eu-west-1:000000000000:runtime/other-emulator01"),
    ):
        with pytest.raises(RequestError, match=r"No endpoint or agent found .* serves: voice-emulator01") as caught:
            runtimes.find(parse(target))
        assert (caught.value.status, caught.value.type) == (404, "ResourceNotFoundException")
    runtimes.remove("voice")
    with pytest.raises(RequestError, match="serves: none"):
        runtimes.find(parse(path()))


@pytest.mark.parametrize("name", ["", "1voice", "my-voice", "v" * 49])
def test_a_name_that_aws_would_refuse_is_refused_at_once(name: str) -> None:
    with pytest.raises(ValueError, match="no name of an agent"):
        AgentRuntimes({name: "http://127.0.0.1:8080"})


@pytest.mark.parametrize("url", ["127.0.0.1:8080", "https://h:1", "http://h", "http://h:1/path", "http://h:x"])
def test_an_address_that_cannot_be_one_is_refused_at_once(url: str) -> None:
    with pytest.raises(ValueError, match="expected is http://HOST:PORT"):
        AgentRuntimes({"voice": url})
