"""What runs in AWS."""
