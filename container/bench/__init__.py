"""The one command for everything that can be measured here."""
