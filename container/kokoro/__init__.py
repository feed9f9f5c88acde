"""Kokoro-82M as a SageMaker container: `GET /ping`, `POST /invocations`, WS `/invocations-bidirectional-stream`."""
