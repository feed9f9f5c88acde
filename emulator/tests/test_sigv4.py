import datetime

import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from hypothesis import given
from hypothesis import strategies as st

from emulator.tests.test_parts import END, SIGNED, SIGNED_JS
from emulator.wire.eventstream import Decoder, Header, Message
from emulator.wire.exceptions import RequestError
from emulator.wire.sigv4 import EventSignatureError, EventVerifier, verify_request

# the example key of AWS's documentation
SECRETS = {"AKIDEXAMPLE": "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"}
PYTHON_AT = datetime.datetime(2026, 11, 29, 15, 2, 13, tzinfo=datetime.UTC)
JS_AT = datetime.datetime(2026, 11, 29, 15, 1, 23, tzinfo=datetime.UTC)
PYTHON_PATH = "/endpoints/eofearly/invocations-bidirectional-stream?"
AUTHORITY = "localhost:18443"
PYTHON = {
    "content-type": "application/vnd.amazon.eventstream",
    "x-amz-date": "20261129T150213Z",
    "x-amz-content-sha256": "STREAMING-AWS4-HMAC-SHA256-EVENTS",
    "authorization": "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20261129/us-west-2/sagemaker/aws4_request, "
    "SignedHeaders=content-type;host;x-amz-content-sha256;x-amz-date, "
    "Signature=c5c3950cdf762a82756af1cc2bc1654c098176f97235a23ae084b86de5dcfd71",
}
JS = {
    "amz-sdk-invocation-id": "23d28d01-2d79-4267-a261-62f7966fe616",
    "amz-sdk-request": "attempt=1; max=3",
    "content-type": "application/vnd.amazon.eventstream",
    "x-amz-date": "20261129T150123Z",
    "x-amz-content-sha256": "STREAMING-AWS4-HMAC-SHA256-EVENTS",
    "x-amz-user-agent": "aws-sdk-js/3.1163.0",
    "x-amzn-sagemaker-model-invocation-path": "v1/listen",
    "x-amzn-sagemaker-model-query-string": "a=b",
    "authorization": "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20261129/us-west-2/sagemaker/aws4_request, "
    "SignedHeaders=:authority;amz-sdk-invocation-id;amz-sdk-request;content-type;x-amz-content-sha256;x-amz-date;"
    "x-amz-user-agent;x-amzn-sagemaker-model-invocation-path;x-amzn-sagemaker-model-query-string, "
    "Signature=e1d19e51bbafc5f37d540a5b2b9b218dffd68f3b80cced739f275fb6e079d2cc",
}


def verify(
    headers: dict[str, str],
    path: str = PYTHON_PATH,
    now: datetime.datetime = PYTHON_AT,
    authority: str = AUTHORITY,
) -> EventVerifier:
    return verify_request("POST", path, authority, headers.items(), SECRETS, now)


def refusal(headers: dict[str, str], now: datetime.datetime = PYTHON_AT, path: str = PYTHON_PATH) -> RequestError:
    with pytest.raises(RequestError) as caught:
        verify(headers, path, now)
    assert caught.value.status == 403
    return caught.value


def message(raw: bytes) -> Message:
    (decoded,) = Decoder().feed(raw)
    return decoded


def test_a_captured_session_of_the_python_sdk_verifies_to_its_end() -> None:
    verifier = verify(PYTHON)
    verifier.verify(message(SIGNED))
    verifier.verify(message(END))


def test_a_captured_session_of_the_javascript_sdk_verifies() -> None:
    verify(JS, "/endpoints/echo/invocations-bidirectional-stream", JS_AT).verify(message(SIGNED_JS))


def test_an_event_out_of_order_breaks_the_chain() -> None:
    with pytest.raises(EventSignatureError, match="does not match"):
        verify(PYTHON).verify(message(END))


def test_a_changed_payload_is_seen() -> None:
    signed = message(SIGNED)
    with pytest.raises(EventSignatureError, match="does not match"):
        verify(PYTHON).verify(Message(signed.headers, signed.payload + b"!"))


@pytest.mark.parametrize("missing", [":date", ":chunk-signature"])
def test_an_unsigned_event_is_named(missing: str) -> None:
    signed = message(SIGNED)
    headers: dict[str, Header] = {name: value for name, value in signed.headers.items() if name != missing}
    with pytest.raises(EventSignatureError, match="it is not signed"):
        verify(PYTHON).verify(Message(headers, signed.payload))


@pytest.mark.parametrize("name", ["content-type", "x-amz-content-sha256"])
def test_a_changed_signed_header_is_an_invalid_signature(name: str) -> None:
    assert refusal(PYTHON | {name: "other"}).type == "InvalidSignatureException"


def test_another_path_is_an_invalid_signature() -> None:
    path = "/endpoints/other/invocations-bidirectional-stream?"
    assert refusal(PYTHON, path=path).type == "InvalidSignatureException"


def test_a_header_that_is_not_signed_may_be_anything() -> None:
    verify(PYTHON | {"user-agent": "x"})


def test_an_unknown_key_names_the_known_ones() -> None:
    error = refusal({**PYTHON, "authorization": PYTHON["authorization"].replace("AKIDEXAMPLE", "AKIAOTHER")})
    assert error.type == "UnrecognizedClientException"
    assert "'AKIAOTHER' is unknown" in error.message
    assert "AKIDEXAMPLE" in error.message


def test_no_authorization_at_all() -> None:
    assert refusal({"x-amz-date": "20261129T150213Z"}).type == "MissingAuthenticationTokenException"


@pytest.mark.parametrize(
    "value",
    [
        "Bearer abc",
        "AWS4-HMAC-SHA256",
        "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20261129/us-west-2/sagemaker, SignedHeaders=host, Signature=00",
        PYTHON["authorization"].replace(", Signature", ", Sig"),
        PYTHON["authorization"].replace("AWS4-HMAC-SHA256", "AWS4-ECDSA-P256-SHA256"),
    ],
)
def test_a_broken_authorization_header_says_what_is_expected(value: str) -> None:
    error = refusal(PYTHON | {"authorization": value})
    assert error.type == "IncompleteSignatureException"
    assert "Credential=KEY/DAY/REGION/SERVICE/aws4_request" in error.message


def test_another_service_is_named() -> None:
    error = refusal(PYTHON | {"authorization": PYTHON["authorization"].replace("/sagemaker/", "/bedrock/")})
    assert "correct service: 'sagemaker', not 'bedrock'" in error.message


@pytest.mark.parametrize(("offset", "text"), [(301, "Signature expired"), (-301, "Signature not yet current")])
def test_a_clock_that_is_off_by_more_than_five_minutes(offset: int, text: str) -> None:
    error = refusal(PYTHON, PYTHON_AT + datetime.timedelta(seconds=offset))
    assert error.type == "InvalidSignatureException"
    assert text in error.message
    assert "301 s" in error.message


@pytest.mark.parametrize("offset", [-300, 300])
def test_five_minutes_are_tolerated(offset: int) -> None:
    verify(PYTHON, now=PYTHON_AT + datetime.timedelta(seconds=offset))


def test_a_broken_date() -> None:
    assert "expected is YYYYMMDDTHHMMSSZ" in refusal(PYTHON | {"x-amz-date": "yesterday"}).message


def test_a_scope_of_another_day() -> None:
    authorization = PYTHON["authorization"].replace("/20261129/", "/20261128/")
    assert "Credential scope (20261128)" in refusal(PYTHON | {"authorization": authorization}).message


@given(
    endpoint=st.from_regex(r"[a-zA-Z0-9](-*[a-zA-Z0-9]){0,20}", fullmatch=True),
    value=st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=30),
)
def test_what_botocore_signs_is_accepted(endpoint: str, value: str) -> None:
    path = f"/endpoints/{endpoint}/invocations-bidirectional-stream"
    request = AWSRequest("POST", f"https://{AUTHORITY}{path}", headers={"x-amzn-sagemaker-model-query-string": value})
    credentials = Credentials("AKIDEXAMPLE", SECRETS["AKIDEXAMPLE"])
    SigV4Auth(credentials, "sagemaker", "eu-west-1").add_auth(request)
    headers = {name.lower(): str(content) for name, content in request.headers.items()}
    headers["x-amz-content-sha256"] = SigV4Auth(credentials, "sagemaker", "eu-west-1").payload(request)
    verify(headers, path, datetime.datetime.now(datetime.UTC))


@given(st.text(max_size=200))
def test_no_authorization_header_breaks_the_verifier(value: str) -> None:
    assert refusal(PYTHON | {"authorization": value}).type.endswith("Exception")
