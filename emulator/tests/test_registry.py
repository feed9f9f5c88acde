import pytest

from emulator import Endpoint
from emulator.registry import Registry


def test_an_address_in_the_place_of_an_endpoint_is_refused_at_once() -> None:
    with pytest.raises(TypeError, match=r"expected is Endpoint\('http://127.0.0.1:8080'\)"):
        Registry({"tts": "http://127.0.0.1:8080"})  # type: ignore[dict-item]  # the mistake itself


def test_a_name_that_no_endpoint_can_have_is_refused_at_once() -> None:
    with pytest.raises(ValueError, match="'my_tts' is no name of an endpoint"):
        Registry({"my_tts": Endpoint("http://127.0.0.1:8080")})
