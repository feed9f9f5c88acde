"""The endpoint's metrics in CloudWatch, by name."""

__all__ = ["CONCURRENCY", "ERRORS", "FIRST_AUDIO", "INSTANCE_NAMESPACE", "NAMESPACE", "REFUSALS", "SESSIONS"]

NAMESPACE = "AWS/SageMaker"
INSTANCE_NAMESPACE = "/aws/sagemaker/Endpoints"
FIRST_AUDIO = "FirstChunkLatency"
"""Microseconds from the request to the first part of the answer, once for each session (fact life.metrics)."""
SESSIONS = "Invocations"
CONCURRENCY = "ConcurrentRequestsPerModel"
"""Requests that a model container has at once: what scaling follows
(https://docs.aws.amazon.com/sagemaker/latest/dg/endpoint-auto-scaling-add-code-define.html)."""
ERRORS = ("Invocation5XXErrors", "InvocationModelErrors", "MidStreamErrors")
REFUSALS = "Invocation4XXErrors"
"""The client's doing: shown, and no reason for an alarm."""
