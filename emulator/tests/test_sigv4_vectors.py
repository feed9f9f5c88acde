"""Requests and signatures of AWS's published test suite for Signature Version 4 (``aws-sig-v4-test-suite``)."""

import datetime
import hashlib

import pytest

from emulator.wire.exceptions import RequestError
from emulator.wire.sigv4 import verify_request

SECRETS = {"AKIDEXAMPLE": "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"}
AT = datetime.datetime(2015, 8, 30, 12, 36, tzinfo=datetime.UTC)
FORM = ("content-type", "application/x-www-form-urlencoded")

VECTORS = {
    "get-vanilla": ("GET", "/", [], "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"),
    "get-vanilla-query": ("GET", "/", [], "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"),
    "get-vanilla-query-order-key-case": (
        "GET",
        "/?Param2=value2&Param1=value1",
        [],
        "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500",
    ),
    "get-vanilla-empty-query-key": (
        "GET",
        "/?Param1=value1",
        [],
        "a67d582fa61cc504c4bae71f336f98b97f1ea3c7a6bfe1b6e45aec72011b9aeb",
    ),
    "get-utf8": ("GET", "/\u1234", [], "8318018e0b0f223aa2bbf98705b62bb787dc9c0e678f255a891fd03141be5d85"),
    "get-unreserved": (
        "GET",
        "/-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz",
        [],
        "07ef7494c76fa4850883e2b006601f940f8a34d404d0cfa977f52a65bbf5f24f",
    ),
    "get-header-key-duplicate": (
        "GET",
        "/",
        [("my-header1", "value2"), ("my-header1", "value2"), ("my-header1", "value1")],
        "c9d5ea9f3f72853aea855b47ea873832890dbdd183b4468f858259531a5138ea",
    ),
    "get-header-value-order": (
        "GET",
        "/",
        [("my-header1", "value4"), ("my-header1", "value1"), ("my-header1", "value3"), ("my-header1", "value2")],
        "08c7e5a9acfcfeb3ab6b2185e75ce8b1deb5e634ec47601a50643f830c755c01",
    ),
    "get-header-value-trim": (
        "GET",
        "/",
        [("my-header1", " value1"), ("my-header2", ' "a   b   c"')],
        "acc3ed3afb60bb290fc8d2dd0098b9911fcaa05412b367055dee359757a9c736",
    ),
    "post-vanilla": ("POST", "/", [], "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"),
    "post-vanilla-query": (
        "POST",
        "/?Param1=value1",
        [],
        "28038455d6de14eafc1f9222cf5aa6f1a96197d7deb8263271d420d138af7f11",
    ),
    "post-header-key-sort": (
        "POST",
        "/",
        [("my-header1", "value1")],
        "c5410059b04c1ee005303aed430f6e6645f61f4dc9e1461ec8f8916fdf18852c",
    ),
    "post-header-value-case": (
        "POST",
        "/",
        [("my-header1", "VALUE1")],
        "cdbc9802e29d2942e5e10b5bccfdd67c5f22c7c4e8ae67b53629efa58b974b7d",
    ),
    "post-x-www-form-urlencoded": (
        "POST",
        "/",
        [FORM],
        "ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a",
    ),
}
BODIES = {"post-x-www-form-urlencoded": b"Param1=value1"}


def verify(name: str, signature: str) -> None:
    method, path, headers, _ = VECTORS[name]
    signed = ";".join(sorted({"host", "x-amz-date", *(header for header, _ in headers)}))
    authorization = (
        "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, "
        f"SignedHeaders={signed}, Signature={signature}"
    )
    fields = [
        *headers,
        ("x-amz-date", "20150830T123600Z"),
        ("x-amz-content-sha256", hashlib.sha256(BODIES.get(name, b"")).hexdigest()),
        ("authorization", authorization),
    ]
    verify_request(method, path, "example.amazonaws.com", fields, SECRETS, AT, service="service")


@pytest.mark.parametrize("name", VECTORS)
def test_a_published_signature_verifies_and_no_other(name: str) -> None:
    signature = VECTORS[name][3]
    verify(name, signature)
    with pytest.raises(RequestError, match="does not match"):
        verify(name, f"{signature[:-1]}{'0' if signature[-1] != '0' else '1'}")
