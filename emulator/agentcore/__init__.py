"""What stands in for the data plane of Amazon Bedrock AgentCore Runtime: clients call, an agent's container answers."""
