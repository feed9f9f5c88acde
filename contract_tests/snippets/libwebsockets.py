"""libwebsockets. The good container is ``contract_tests/good/lws/speech.c``."""

from contract_tests.stack import Stack
from contract_tests.verdict import Snippet

__all__ = ["WHOLE_MESSAGE"]

WHOLE_MESSAGE = Snippet(
    Stack.LIBWEBSOCKETS,
    """\
case LWS_CALLBACK_RECEIVE:
    answer(session, in, size);                   /* a piece of a message, as the network had it */""",
    """\
case LWS_CALLBACK_RECEIVE:
    append(session, in, size);
    if (lws_is_final_fragment(wsi) && !lws_remaining_packet_payload(wsi))
        answer(session, session->message, session->size);""",
)
