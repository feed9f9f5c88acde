"""Fixes as lines of code for the stacks that are not Starlette or FastAPI, whose lines stand beside the checks."""
