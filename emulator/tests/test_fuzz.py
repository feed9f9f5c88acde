"""Random input against everything that reads bytes of others: only documented errors come out."""

import datetime

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from emulator import credentials
from emulator.bench.fuzz import SEEDS, TARGETS, mutations
from emulator.http1.invocation import Invocation, Operation
from emulator.wire.eventstream import Header, HeaderType, Message
from emulator.wire.exceptions import RequestError
from emulator.wire.sigv4 import EventSignatureError, EventVerifier, _SigningKey, verify_request

NOW = datetime.datetime(2026, 11, 29, 15, 0, tzinfo=datetime.UTC)


@pytest.mark.parametrize("name", TARGETS)
@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(data=st.binary(max_size=300), random=st.randoms(use_true_random=False))
def test_whatever_comes_only_documented_errors_come_out(name: str, data: bytes, random: object) -> None:
    TARGETS[name](data)
    TARGETS[name](mutations(SEEDS[name], random))  # type: ignore[arg-type]  # hypothesis's own Random


def test_every_target_has_a_seed_that_gets_behind_the_first_check() -> None:
    assert SEEDS.keys() == TARGETS.keys()
    for name, seeds in SEEDS.items():
        for seed in seeds:
            TARGETS[name](seed)


def test_a_signature_that_is_no_ascii_is_refused_like_any_other() -> None:
    authorization = (
        f"AWS4-HMAC-SHA256 Credential={credentials.ACCESS_KEY_ID}/20261129/us-west-2/sagemaker/aws4_request, "
        "SignedHeaders=host, Signature=ÿ"
    )
    headers = [("authorization", authorization), ("x-amz-date", "20261129T150000Z")]
    with pytest.raises(RequestError, match="does not match the signature you provided"):
        verify_request("POST", "/", "localhost", headers, credentials.SECRETS, NOW)


@given(st.integers(-(2**63), 2**63 - 1))
@example(2**63 - 1)
def test_an_event_of_any_date_is_an_error_of_its_signature(date: int) -> None:
    verifier = EventVerifier(_SigningKey("secret", "us-west-2", "sagemaker"), "0" * 64)
    headers = {":date": Header(HeaderType.TIMESTAMP, date), ":chunk-signature": Header(HeaderType.BYTES, bytes(32))}
    with pytest.raises(EventSignatureError):
        verifier.verify(Message(headers, b""))


@pytest.mark.parametrize("value", ["a\r\nX-Other: 1", "a\nb", "a\0b", "\x7f"])
def test_a_value_that_would_be_two_headers_is_400(value: str) -> None:
    for name in ("accept", "content-type", "x-amzn-sagemaker-custom-attributes"):
        with pytest.raises(RequestError, match="failed to satisfy constraint"):
            Invocation.parse(Operation.INVOKE, "POST", "/endpoints/ep/invocations", [(name, value)])
