"""What stands in for Amazon Bedrock: ``Converse`` and ``ConverseStream`` with scripted answers."""
