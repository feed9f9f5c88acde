"""The endpoint's metrics in CloudWatch, by name."""

__all__ = ["ERRORS", "FIRST_AUDIO", "INSTANCE_NAMESPACE", "NAMESPACE"]

NAMESPACE = "AWS/SageMaker"
INSTANCE_NAMESPACE = "/aws/sagemaker/Endpoints"
FIRST_AUDIO = "FirstChunkLatency"
"""Microseconds from the request to the first part of the answer, once for each session (fact life.metrics)."""
ERRORS = ("Invocation5XXErrors", "InvocationModelErrors", "MidStreamErrors")
