"""Checks of agents: AgentCore containers that answer in server-sent events and speak through a SageMaker endpoint."""
