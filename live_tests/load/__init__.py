"""Load on a deployed endpoint over the bidirectional API, on one machine or on many (Locust)."""
