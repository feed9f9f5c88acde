"""What runs in Amazon Bedrock AgentCore: a Strands agent that speaks finished sentences while text is still coming."""
