"""What a conversation remembers."""

from strands.types.content import Messages

from container.agent.memory import MAX_CONVERSATIONS, Memory


def exchange(name: str) -> Messages:
    return [
        {"role": "user", "content": [{"text": f"{name}?"}]},
        {"role": "assistant", "content": [{"text": f"{name}."}]},
    ]


def texts(messages: Messages) -> list[str]:
    return [block["text"] for message in messages for block in message["content"]]


def test_turns_that_began_together_are_remembered_in_the_order_in_which_they_ended() -> None:
    memory = Memory()
    memory.add("s", [], exchange("Zero"))
    one, two = memory.recall("s"), memory.recall("s")
    memory.add("s", two, two + exchange("Two"))
    memory.add("s", one, one + exchange("One"))
    assert texts(memory.recall("s")) == ["Zero?", "Zero.", "Two?", "Two.", "One?", "One."]
    assert memory.recall("another") == memory.recall(None) == []


def test_what_an_agent_dropped_of_a_long_conversation_stays_dropped() -> None:
    memory = Memory()
    memory.add("s", [], exchange("Zero") + exchange("One"))
    found = memory.recall("s")
    other = memory.recall("s")
    memory.add("s", found, found[2:] + exchange("Two"))
    memory.add("s", other, other + exchange("Three"))
    assert texts(memory.recall("s")) == ["One?", "One.", "Two?", "Two.", "Three?", "Three."]


def test_the_conversation_that_was_silent_for_longest_is_forgotten() -> None:
    memory = Memory()
    memory.add("first", [], exchange("First"))
    for number in range(MAX_CONVERSATIONS):
        memory.add(str(number), [], exchange("Next"))
    assert memory.recall("first") == []
    assert memory.recall("0") != []
