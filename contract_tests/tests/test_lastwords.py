"""What is shown of a container's own output."""

from contract_tests.lastwords import last_words

RAISED = ["Traceback (most recent call last):", '  File "app.py", line 3, in stream', "KeyError: 'text'"]


def test_the_last_traceback_and_what_led_to_it() -> None:
    lines = ["INFO connection open", *RAISED, "INFO connection closed", "", "ERROR in the application", *RAISED]
    assert last_words(lines) == ("ERROR in the application", *RAISED)


def test_a_chain_of_exceptions_is_kept_together() -> None:
    between = "During handling of the above exception, another exception occurred:"
    lines = ["ERROR", *RAISED, "", between, "", *RAISED]
    assert last_words(lines) == ("ERROR", *RAISED, between, *RAISED)


def test_a_long_traceback_keeps_its_head_and_its_end() -> None:
    shown = last_words([RAISED[0], *(f"  frame {number}" for number in range(100)), RAISED[-1]])
    assert len(shown) == 25
    assert shown[:2] == (RAISED[0], "  frame 0")
    assert shown[3] == "… 78 lines"
    assert shown[-1] == RAISED[-1]


def test_without_a_traceback_the_last_lines() -> None:
    assert last_words([str(number) for number in range(100)]) == tuple(str(number) for number in range(75, 100))
    assert last_words(["x" * 1000])[0] == "x" * 300 + "…"
    assert last_words([]) == ()


def test_that_the_caller_has_gone_is_no_news_beside_another_exception() -> None:
    gone = ["ERROR in the application", RAISED[0], "  frame", "starlette.websockets.WebSocketDisconnect: (1000, '')"]
    lines = [*gone, "ERROR in another one", *RAISED, "INFO connection closed", *gone, *gone]
    assert last_words(lines) == ("ERROR in another one", *RAISED, "INFO connection closed")
    assert last_words([*gone, *gone]) == tuple(gone)
