"""The runtime of the AWS SDK for JavaScript with the operation of this service, as its generated client uses it."""

from pathlib import Path

from emulator.tests.clients.environment import node_environment
from emulator.tests.clients.stage import ENDPOINTS, HERE, SPOKEN, results, stage

TALK = HERE / "javascript" / "talk.cjs"


async def test_the_sdk_talks_and_ends_and_throws(state_directory: Path) -> None:
    node = node_environment()
    async with stage(state_directory) as on:
        got = await results(on, node.executable, TALK, *ENDPOINTS, NODE_PATH=str(node.packages))
        assert got["echo"] == {"received": SPOKEN, "end": "None", "variant": "AllTraffic"}
        assert [frame.split(" ")[0] for frame in on.container.frames] == ["TEXT", "BINARY", "BINARY", "CLOSE"]
        assert await on.container.close_seen() == (1000, "")
        # unlike the Python SDK it keeps name and text of an error that the model does not know
        assert got["nobody"]["raised"] == "ValidationError"
        assert got["nobody"]["text"].startswith("Endpoint nobody of account 000000000000 not found.")
        assert got["nobody"]["members"]["status"] == 400
        assert got["refuses"]["raised"] == "ModelError"
        assert got["refuses"]["members"]["original_status_code"] == 424
        assert got["dies"]["raised"] == "ModelStreamError"
        assert got["dies"]["members"]["error_code"] == "1006"
        assert got["fails"]["raised"] == "ModelStreamError"
        assert got["fails"]["text"] == "out of memory"
        assert got["fails"]["members"]["error_code"] == "1011"
        assert got["leaves"] == {"received": SPOKEN[:1], "end": "None", "variant": "AllTraffic"}
