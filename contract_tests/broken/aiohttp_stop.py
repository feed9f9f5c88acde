"""Fault: SIGTERM waits for the callers to leave. Seen in https://github.com/esphome/device-builder/pull/601.

aiohttp gives open handlers 60 s to end, and nobody tells those of the sessions that they should: SageMaker kills the
process after 30.
"""

from contract_tests.good.aiohttp_speech import serve, speech_server

if __name__ == "__main__":
    serve(speech_server(says_goodbye=False))
