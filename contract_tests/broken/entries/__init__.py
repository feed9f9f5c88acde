"""The entries of the broken containers, by what they are broken in."""
