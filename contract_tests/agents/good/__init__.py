"""A small agent without a framework that no check may fail."""
