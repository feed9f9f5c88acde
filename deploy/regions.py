"""Which regions there are, as far as boto3 knows."""

import difflib
from typing import Any

__all__ = ["misspelt"]


def misspelt(session: Any, region: str) -> str:
    """Return what is to be said of a region that boto3 does not know, "" of one that it knows."""
    known = [
        name
        for partition in session.get_available_partitions()
        for name in session.get_available_regions("sagemaker", partition_name=partition)
    ]
    if region in known:
        return ""
    alike = difflib.get_close_matches(region, known)
    near = f"; near it are {', '.join(alike)}" if len(alike) > 1 else "".join(f"; near it is {name}" for name in alike)
    return f"Is the region {region} misspelt? boto3 does not know it{near}."
