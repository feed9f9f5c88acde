import pytest

from emulator.wire.exceptions import RequestError
from emulator.wire.request import InvocationRequest, model_error, unknown_endpoint

PATH = "/endpoints/my-ep/invocations-bidirectional-stream"


def parse(path: str = PATH, method: str = "POST", **headers: str) -> InvocationRequest:
    return InvocationRequest.parse(method, path, [(name.replace("_", "-"), value) for name, value in headers.items()])


def refusal(path: str = PATH, method: str = "POST", **headers: str) -> RequestError:
    with pytest.raises(RequestError) as caught:
        parse(path, method, **headers)
    return caught.value


@pytest.mark.parametrize("path", [PATH, PATH + "?"])
def test_the_path_with_and_without_the_python_sdk_s_question_mark(path: str) -> None:
    request = parse(path)
    assert request.endpoint == "my-ep"
    assert request.container_target == "/invocations-bidirectional-stream"
    assert request.variant is None


def test_path_and_query_for_the_container() -> None:
    request = parse(
        x_amzn_sagemaker_model_invocation_path="v1/listen",
        x_amzn_sagemaker_model_query_string="model=nova-3&language=en%2DUS",
        x_amzn_sagemaker_target_variant="V1",
    )
    assert request.container_target == "/v1/listen?model=nova-3&language=en%2DUS"
    assert request.variant == "V1"


def test_a_query_alone_is_appended_to_the_default_path() -> None:
    request = parse(x_amzn_sagemaker_model_query_string="a=b")
    assert request.container_target == "/invocations-bidirectional-stream?a=b"


@pytest.mark.parametrize("name", ["a", "a" * 63, "a-b--c", "A1"])
def test_good_endpoint_names(name: str) -> None:
    assert parse(f"/endpoints/{name}/invocations-bidirectional-stream").endpoint == name


@pytest.mark.parametrize("name", ["", "-a", "a-", "a" * 64, "a_b", "a.b", "a%20b", "ä"])
def test_bad_endpoint_names_are_400_with_the_pattern(name: str) -> None:
    error = refusal(f"/endpoints/{name}/invocations-bidirectional-stream")
    assert (error.status, error.type) == (400, "InputValidationError")
    assert "'endpointName' failed to satisfy constraint" in error.message
    assert error.members["ErrorCode"]


@pytest.mark.parametrize("path", ["v1/listen", "a", "a.b-c_d/e", "x" * 100])
def test_good_invocation_paths(path: str) -> None:
    assert parse(x_amzn_sagemaker_model_invocation_path=path).container_target == f"/{path}"


@pytest.mark.parametrize("path", ["/v1", "v1/", "a//b", "a%20b", "", "a b", "x" * 101, "a?b"])
def test_bad_invocation_paths_are_400(path: str) -> None:
    error = refusal(x_amzn_sagemaker_model_invocation_path=path)
    assert (error.status, error.type) == (400, "InputValidationError")
    assert "modelInvocationPath" in error.message


@pytest.mark.parametrize("name", ["path", "query-string"])
def test_an_empty_header_says_that_it_is_to_be_left_out(name: str) -> None:
    header = {"path": "x_amzn_sagemaker_model_invocation_path", "query-string": "x_amzn_sagemaker_model_query_string"}
    assert "an empty header is no value, leave it out" in refusal(**{header[name]: ""}).message


def test_a_leading_slash_says_that_sagemaker_puts_it_back() -> None:
    assert "leave the leading '/' out" in refusal(x_amzn_sagemaker_model_invocation_path="/v1").message


@pytest.mark.parametrize("query", ["a=b", "a=b&c=d", "a_b-c=%41~", "a=" + "x" * 2046])
def test_good_queries(query: str) -> None:
    assert parse(x_amzn_sagemaker_model_query_string=query).container_target.endswith(f"?{query}")


@pytest.mark.parametrize("query", ["", "a", "a=", "?a=b", "a=b&", "_a=b", "a=b c", "a=%4", "a=" + "x" * 2047])
def test_bad_queries_are_400(query: str) -> None:
    error = refusal(x_amzn_sagemaker_model_query_string=query)
    assert (error.status, error.type) == (400, "InputValidationError")
    assert "modelQueryString" in error.message


def test_a_long_bad_value_is_cut_in_the_message() -> None:
    assert len(refusal(x_amzn_sagemaker_model_query_string="?" * 5000).message) < 400


@pytest.mark.parametrize(("method", "path"), [("GET", PATH), ("POST", "/endpoints/x/invocations"), ("POST", "/")])
def test_another_operation_is_404_and_says_what_is_served(method: str, path: str) -> None:
    error = refusal(path, method)
    assert (error.status, error.type) == (404, "UnknownOperationException")
    assert "POST /endpoints/{EndpointName}/invocations-bidirectional-stream" in error.message


def test_another_content_type_is_400() -> None:
    assert "it must be application/vnd.amazon.eventstream" in refusal(content_type="application/json").message
    assert parse(content_type="application/vnd.amazon.eventstream; charset=x").endpoint == "my-ep"


def test_a_bad_variant_is_400() -> None:
    assert "targetVariant" in refusal(x_amzn_sagemaker_target_variant="a b").message


def test_an_unknown_endpoint_names_those_that_are_there() -> None:
    error = unknown_endpoint("nope", "000000000000", ["b", "a"])
    assert (error.status, error.type) == (400, "ValidationError")
    assert error.message.startswith("Endpoint nope of account 000000000000 not found.")
    assert "a, b" in error.message


def test_a_refused_upgrade_is_424_with_the_reported_members() -> None:
    error = model_error("AllTraffic", "HTTP 403")
    assert (error.status, error.type) == (424, "ModelError")
    assert 'from AllTraffic with message "Failed to establish WebSocket connection"' in error.message
    assert error.members["ErrorCode"] == "INTERNAL_FAILURE_FROM_MODEL"
    assert error.members["OriginalStatusCode"] == 424
    assert error.members["OriginalMessage"] == "HTTP 403"
