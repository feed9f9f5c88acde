"""What runs in Amazon Bedrock AgentCore: the Strands agent that speaks finished sentences while text is still coming."""
