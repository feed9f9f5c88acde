"""The emulator's own credentials: AWS's documented example pair, known to everyone as no secret."""

__all__ = ["ACCESS_KEY_ID", "ENVIRONMENT", "REGION", "SECRETS", "SECRET_ACCESS_KEY"]

ACCESS_KEY_ID = "AKIDEXAMPLE"
SECRET_ACCESS_KEY = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"  # noqa: S105  # AWS's documented example
REGION = "us-west-2"
"""Any region is accepted; this one is handed out."""

SECRETS = {ACCESS_KEY_ID: SECRET_ACCESS_KEY}
ENVIRONMENT = {
    "AWS_ACCESS_KEY_ID": ACCESS_KEY_ID,
    "AWS_SECRET_ACCESS_KEY": SECRET_ACCESS_KEY,
    "AWS_REGION": REGION,
    "AWS_DEFAULT_REGION": REGION,
}
