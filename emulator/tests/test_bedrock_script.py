import json
import re
from pathlib import Path

import pytest

from emulator.bedrock.request import Conversation, Operation
from emulator.bedrock.script import Script, ScriptError, ToolUse, Turn
from emulator.bedrock.timeline import Break, Timed, answer, duration, events
from emulator.wire.eventstream import Decoder
from emulator.wire.exceptions import RequestError

STREAM = "/model/anthropic.claude/converse-stream"


def decoded(turn: Turn) -> list[tuple[float, str, object]]:
    """Each event as time in milliseconds, name and payload."""
    seen: list[tuple[float, str, object]] = []
    for timed in events(turn, "tooluse_1", 7):
        at = round(timed.at * 1000, 6)
        if isinstance(timed, Break):
            seen.append((at, timed.kind, None))
            continue
        (message,) = Decoder().feed(timed.data)
        assert message.string(":content-type") == "application/json"
        name = message.string(":event-type") or message.string(":exception-type")
        assert (message.string(":message-type") == "exception") == (message.string(":event-type") is None)
        seen.append((at, name or "", json.loads(message.payload)))
    return seen


def test_text_comes_at_the_token_rate_after_the_first_token() -> None:
    turn = Turn("One two.", tokens_per_second=100, first_token=0.5)
    assert decoded(turn) == [
        (500, "messageStart", {"role": "assistant"}),
        (500, "contentBlockDelta", {"contentBlockIndex": 0, "delta": {"text": "One"}}),
        (510, "contentBlockDelta", {"contentBlockIndex": 0, "delta": {"text": " two."}}),
        (510, "contentBlockStop", {"contentBlockIndex": 0}),
        (510, "messageStop", {"stopReason": "end_turn"}),
        (
            510,
            "metadata",
            {"usage": {"inputTokens": 7, "outputTokens": 2, "totalTokens": 9}, "metrics": {"latencyMs": 510}},
        ),
    ]
    assert duration(turn) == pytest.approx(0.51)


def test_a_tool_use_follows_the_text_in_a_block_of_its_own() -> None:
    turn = Turn("Wait.", tokens_per_second=0, first_token=0, tool=ToolUse("look", {"city": "Zürich"}))
    seen = decoded(turn)
    assert [name for _, name, _ in seen[2:5]] == ["contentBlockDelta", "contentBlockStop", "contentBlockStart"]
    start = {"contentBlockIndex": 1, "start": {"toolUse": {"toolUseId": "tooluse_1", "name": "look"}}}
    assert seen[4][2] == start
    pieces = [payload["delta"]["toolUse"]["input"] for _, name, payload in seen[5:] if name == "contentBlockDelta"]  # type: ignore[index]
    assert len(pieces) > 1
    assert json.loads("".join(pieces)) == {"city": "Zürich"}
    assert seen[-2][2] == {"stopReason": "tool_use"}
    assert answer(turn, "tooluse_1", 7)["output"]["message"]["content"] == [
        {"text": "Wait."},
        {"toolUse": {"toolUseId": "tooluse_1", "name": "look", "input": {"city": "Zürich"}}},
    ]


@pytest.mark.parametrize("text", ["", " ", "A b.", "  two  words \n", "Ich heiße 李小龍。 Ja?", "a" * 1000])
def test_fragments_are_the_text(text: str) -> None:
    assert "".join(Turn(text).pieces) == text


@pytest.mark.parametrize(
    ("fail", "last"),
    [
        ("cut", ("cut", None)),
        ("stall", ("stall", None)),
        (
            "ThrottlingException",
            ("throttlingException", {"message": "Too many requests, please wait before trying again."}),
        ),
    ],
)
def test_a_failure_ends_the_stream_after_so_many_fragments(fail: str, last: object) -> None:
    seen = decoded(Turn("One two three.", tokens_per_second=10, first_token=0, fail=fail, fail_after=2))
    assert [name for _, name, _ in seen[:-1]] == ["messageStart", "contentBlockDelta", "contentBlockDelta"]
    assert seen[-1][0] == 200
    assert seen[-1][1:] == last


def test_a_failure_late_comes_before_the_end_of_the_message() -> None:
    seen = decoded(Turn("One.", first_token=0, fail="cut", fail_after=99))
    assert [name for _, name, _ in seen] == ["messageStart", "contentBlockDelta", "contentBlockStop", "cut"]


def test_the_turn_depends_on_prompt_and_tool_results_only() -> None:
    first, second = Turn("Let me look.", when="weather"), Turn("Sunny.", when="weather")
    script = Script((Turn("Hello."), first, second))
    assert [script.choose("the weather?", rounds) for rounds in range(3)] == [first, second, second]
    assert script.choose("who are you", 0).text == "Hello."


def test_a_script_is_read_from_toml(tmp_path: Path) -> None:
    path = tmp_path / "script.toml"
    path.write_text("""
        tokens_per_second = 80
        [[turn]]
        tool = { name = "look", input = { city = "Paris" } }
        [[turn]]
        fragments = ["Sun", "ny."]
        first_token = 0
    """)
    one, two = Script.load(path).turns
    assert (one.tool, one.text, one.tokens_per_second) == (ToolUse("look", {"city": "Paris"}), "", 80)
    assert (two.pieces, two.text, two.first_token, two.tokens_per_second) == (("Sun", "ny."), "Sunny.", 0, 80)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("tokens_per_secnd = 1", "a key is 'tokens_per_secnd'; did you mean tokens_per_second?"),
        ("tokens_per_second = 'x'", "tokens_per_second is 'x', expected is int or float"),
        ("tokens_per_second = true", "tokens_per_second is True"),
        ("first_token = -1", "must be 0 or more"),
        ("first_token = nan", "first_token is nan: a finite number of seconds"),
        ("first_token = inf", "first_token is inf: a finite number of seconds"),
        (f"first_token = 1{'0' * 400}", "first_token is 10+: a finite number of seconds"),
        ("tokens_per_second = nan", "tokens_per_second is nan: a finite number .* or 0 for all tokens at once"),
        ("tokens_per_second = inf", "tokens_per_second is inf: a finite number"),
        ("tokens_per_second = 1e-320", "tokens_per_second is 1e-320: a finite number from 1e-09"),
        ("[[turn]]\nfail = 'Throttling'", "fail is 'Throttling'; did you mean ThrottlingException?"),
        ("[[turn]]\nrefuse = 'x'", "expected is one of AccessDeniedException"),
        ("[[turn]]\nwhen = '('", "no regular expression"),
        ("[[turn]]\ntool = { nam = 'x' }", "expected is { name"),
        ("[[turn]]\ntool = { name = 'a b' }", "tool.name is 'a b'"),
        ("[[turn]]\ntool = { name = 'a', input = 5 }", "tool.input is 5: a table is expected, as in input = { city"),
        (
            "[[turn]]\ntool = { name = 'book', input = { day = 2024-05-01 } }",
            "tool.input of book is no JSON, .* write a date as a string, as in day = '2024-05-01'",
        ),
        ("[[turn]]\ntool = { name = 'a', input = { x = [1, { y = nan }] } }", "tool.input of a is no JSON"),
        ("turn = 3", r"under a line \[\[turn\]\]"),
        ("[[turn]]\nfragments = [1]", "list of strings"),
        ("= 3", "is no TOML"),
        (f"times = 1{'0' * 5000}", "is no TOML"),
        (f"text = {'[' * 5000}", "is no TOML"),
    ],
)
def test_a_wrong_script_says_what_is_expected(text: str, error: str, tmp_path: Path) -> None:
    path = tmp_path / "script.toml"
    path.write_text(text)
    with pytest.raises(ScriptError, match=error):
        Script.load(path)


@pytest.mark.parametrize("turn", [Turn(first_token=1e9, tokens_per_second=1e-9), Turn(tokens_per_second=1e9)])
def test_times_at_their_bounds_can_be_played(turn: Turn) -> None:
    assert decoded(turn)[-1][1] == "metadata"


def test_a_missing_script_says_so(tmp_path: Path) -> None:
    with pytest.raises(ScriptError, match="No such file"):
        Script.load(tmp_path / "nothing.toml")


@pytest.mark.parametrize(
    ("path", "operation"),
    [
        (STREAM, Operation.CONVERSE_STREAM),
        ("/model/a.b/converse", Operation.CONVERSE),
        ("/model/arn%3Aaws%3Abedrock%3Aus-west-2%3A%3Afoundation-model%2Fa.b-v1%3A0/converse", Operation.CONVERSE),
        ("/model/a.b/invoke", None),
        ("/model/a.b/invoke-with-response-stream", None),
    ],
)
def test_the_path_names_the_operation(path: str, operation: Operation | None) -> None:
    assert Operation.of(path) is operation


def parse(body: object, path: str = STREAM) -> Conversation:
    return Conversation.parse(Operation.CONVERSE_STREAM, "POST", path, json.dumps(body).encode())


def said(role: str, **block: object) -> dict[str, object]:
    return {"role": role, "content": [block]}


def test_tool_results_are_counted_since_the_last_prompt() -> None:
    messages = [
        said("user", text="first"),
        said("assistant", text="yes"),
        said("user", text="second"),
        said("assistant", toolUse={}),
        said("user", toolResult={}),
        said("assistant", toolUse={}),
        said("user", toolResult={}),
    ]
    tools = {"tools": [{"toolSpec": {"name": "look"}}, {"cachePoint": {}}]}
    asked = parse({"messages": messages, "toolConfig": tools})
    assert (asked.prompt, asked.tool_rounds, asked.tools) == ("second", 2, ("look",))


@pytest.mark.parametrize("body", [{}, {"messages": []}, {"messages": [{}]}, {"messages": "x"}, [], "x"])
def test_a_body_without_messages_is_a_validation_error(body: object) -> None:
    with pytest.raises(RequestError, match="messages must be a list") as caught:
        parse(body)
    assert (caught.value.status, caught.value.type) == (400, "ValidationException")


@pytest.mark.parametrize("config", [{"tools": 3}, {"tools": [3]}, {"tools": [{"toolSpec": {}}]}, "x"])
def test_tools_that_are_none_are_a_validation_error(config: object) -> None:
    with pytest.raises(RequestError, match=r"toolSpec\.name") as caught:
        parse({"messages": [said("user", text="x")], "toolConfig": config})
    assert caught.value.type == "ValidationException"


def test_a_body_that_is_no_json_and_a_model_that_is_none() -> None:
    with pytest.raises(RequestError, match="no JSON"):
        Conversation.parse(Operation.CONVERSE, "POST", "/model/a/converse", b"{")
    with pytest.raises(RequestError, match="no JSON"):
        Conversation.parse(Operation.CONVERSE, "POST", "/model/a/converse", b"[" * 100_000)
    with pytest.raises(RequestError, match="The provided model identifier is invalid"):
        parse({"messages": [said("user", text="x")]}, "/model/no%20model/converse-stream")
    with pytest.raises(RequestError, match="this operation is POST"):
        Conversation.parse(Operation.CONVERSE, "GET", "/model/a/converse", b"{}")


def test_all_events_are_encoded_before_they_are_due() -> None:
    assert all(isinstance(timed, Timed) and timed.at >= 0.5 for timed in events(Turn(), "t", 1))


def test_the_scripts_of_the_page_can_be_played(tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "agent.md").read_text("utf-8")
    scripts = re.findall(r"```toml\n(.*?)```", page, re.DOTALL)
    assert len(scripts) == 2
    for number, text in enumerate(scripts):
        path = tmp_path / f"{number}.toml"
        path.write_text(text)
        assert len(Script.load(path).turns) == 3
