"""The checks of agents, one file each."""
