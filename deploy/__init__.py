"""What puts it there: CDK apps ``speech-infra`` and ``agent-infra``, rehearsed without an AWS account."""
