"""The control plane: moto keeps the books, and the endpoints in them really start containers."""
