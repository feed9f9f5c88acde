"""The contract suite: what a container must do on SageMaker bidirectional streaming, and how to find out."""
