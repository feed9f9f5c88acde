import hashlib

import pytest

from emulator.http1.invocation import (
    Invocation,
    Operation,
    check_size,
    container_failed,
    response_headers,
    signed_headers,
)
from emulator.http1.response_stream import PartCutter
from emulator.wire.exceptions import RequestError

INVOKE = "/endpoints/ep/invocations"
STREAM = "/endpoints/ep/invocations-response-stream"


def parse(*headers: tuple[str, str], path: str = INVOKE, method: str = "POST") -> Invocation:
    return Invocation.parse(Invocation.operation_of(path) or Operation.INVOKE, method, path, headers)


@pytest.mark.parametrize(
    ("path", "operation"),
    [
        (INVOKE, Operation.INVOKE),
        (f"{INVOKE}?", Operation.INVOKE),
        (STREAM, Operation.RESPONSE_STREAM),
        ("/endpoints/ep/async-invocations", None),
        ("/endpoints/a/b/invocations", None),
        ("/bucket/invocations", None),
    ],
)
def test_the_path_names_the_operation(path: str, operation: Operation | None) -> None:
    assert Invocation.operation_of(path) is operation


def test_what_the_api_names_reaches_the_container_and_nothing_else() -> None:
    request = parse(
        ("content-type", "text/csv"),
        ("accept", "application/json"),
        ("x-amzn-sagemaker-custom-attributes", "trace=1; a, b"),
        ("x-amzn-sagemaker-target-variant", "AllTraffic"),
        ("x-amzn-sagemaker-inference-id", "id-1"),
        ("authorization", "secret"),
        ("user-agent", "boto3"),
        ("x-mine", "1"),
    )
    assert request.variant == "AllTraffic"
    assert request.container_headers == [
        ("Content-Type", "text/csv"),
        ("Accept", "application/json"),
        ("X-Amzn-SageMaker-Custom-Attributes", "trace=1; a, b"),
        ("X-Amzn-SageMaker-Inference-Id", "id-1"),
    ]


def test_a_response_stream_has_its_accept_in_a_header_of_its_own() -> None:
    request = parse(("accept", "*/*"), ("x-amzn-sagemaker-accept", "audio/pcm"), path=STREAM)
    assert request.container_headers == [("Accept", "audio/pcm")]


@pytest.mark.parametrize(
    ("header", "value", "message"),
    [
        ("custom-attributes", "x" * 1025, r"'customAttributes' .* less than or equal to 1024 \(it has 1025\)"),
        ("custom-attributes", "é", "'customAttributes' .* regular expression"),
        ("target-variant", "-x", "'targetVariant' .* regular expression"),
        ("inference-id", " x", "'inferenceId' .* regular expression"),
        ("session-id", "a_b", "'sessionId' .* regular expression"),
        ("target-model", "model.tar.gz", "X-Amzn-SageMaker-Target-Model asks for a kind of endpoint"),
        ("inference-component", "c", "X-Amzn-SageMaker-Inference-Component asks for a kind of endpoint"),
    ],
)
def test_a_header_that_breaks_the_model_is_a_validation_error(header: str, value: str, message: str) -> None:
    with pytest.raises(RequestError, match=message) as caught:
        parse((f"x-amzn-sagemaker-{header}", value))
    assert (caught.value.status, caught.value.type) == (400, "ValidationError")


@pytest.mark.parametrize(
    "path", ["/endpoints/-x/invocations", "/endpoints/a%2Fb/invocations", f"/endpoints/{'x' * 64}/invocations"]
)
def test_a_bad_endpoint_name_is_a_validation_error(path: str) -> None:
    with pytest.raises(RequestError, match="'endpointName'"):
        parse(path=path)


def test_another_method_is_no_operation() -> None:
    with pytest.raises(RequestError) as caught:
        parse(method="GET")
    assert (caught.value.status, caught.value.type) == (404, "UnknownOperationException")


def test_the_signature_covers_the_body_in_all_three_ways() -> None:
    digest = hashlib.sha256(b"body").hexdigest()
    assert signed_headers([], b"body") == [("x-amz-content-sha256", digest)]
    for named in (digest, "UNSIGNED-PAYLOAD"):
        given = [("x-amz-content-sha256", named)]
        assert signed_headers(given, b"body") == given
    with pytest.raises(RequestError, match="the body was changed on its way"):
        signed_headers([("x-amz-content-sha256", digest)], b"other")


def test_a_body_over_the_limit_is_refused() -> None:
    check_size(10, 10)
    with pytest.raises(RequestError, match="at most 10 are allowed") as caught:
        check_size(11, 10)
    assert caught.value.status == 413


@pytest.mark.parametrize(
    ("status", "whose", "code"),
    [(400, "client", "CLIENT_ERROR_FROM_MODEL"), (503, "server", "INTERNAL_FAILURE_FROM_MODEL")],
)
def test_an_error_of_the_container_keeps_its_status_and_body(status: int, whose: str, code: str) -> None:
    error = container_failed(status, b"no such voice", "ep", ("us-west-2", "000000000000"))
    assert error.status == 424
    assert error.message.startswith(f'Received {whose} error ({status}) from primary with message "no such voice".')
    assert error.members == {"OriginalStatusCode": status, "OriginalMessage": "no such voice", "ErrorCode": code}


def test_messages_stay_within_the_length_of_the_service_model() -> None:
    error = container_failed(500, b"x" * 100_000, "ep", ("us-west-2", "000000000000"))
    assert len(error.message) <= 2048
    assert len(str(error.members["OriginalMessage"])) <= 2048


def test_only_named_headers_come_back() -> None:
    container = [
        ("content-type", "text/csv"),
        ("x-amzn-sagemaker-custom-attributes", "mine"),
        ("x-amzn-sagemaker-new-session-id", "s; Expires=2026-01-01T00:00:00Z"),
        ("server", "uvicorn"),
        ("set-cookie", "a=b"),
    ]
    assert response_headers(Operation.INVOKE, "v", container) == [
        ("x-Amzn-Invoked-Production-Variant", "v"),
        ("Content-Type", "text/csv"),
        ("X-Amzn-SageMaker-Custom-Attributes", "mine"),
        ("X-Amzn-SageMaker-New-Session-Id", "s; Expires=2026-01-01T00:00:00Z"),
    ]
    assert ("X-Amzn-SageMaker-Content-Type", "text/csv") in response_headers(Operation.RESPONSE_STREAM, "v", container)


def test_parts_are_cut_at_places_of_the_stream_not_at_chunks() -> None:
    cutter = PartCutter()
    assert [len(part) for part in cutter.cut(bytes(4000))] == [4000]
    assert [len(part) for part in cutter.cut(bytes(100))] == [90, 10]
    assert [len(part) for part in cutter.cut(bytes(20_000))] == [8182, 4090, 7728]
    assert cutter.cut(b"") == []
