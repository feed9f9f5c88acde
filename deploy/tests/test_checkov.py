"""checkov over the templates, where it is installed; it pins so much that it has an environment of its own.

``uv tool install checkov && uv run pytest deploy/tests/test_checkov.py``, or ``CHECKOV=/path/to/checkov``: 7 s of work.
"""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

CHECKOV = shutil.which(os.environ.get("CHECKOV", "checkov"))
MEANT = {
    "CKV_AWS_18": "public weights that one role reads: a log of accesses tells nothing",
    "CKV_AWS_21": "weights can be uploaded again, and old versions would go on costing",
    "CKV_AWS_136": "the registry's own encryption at rest; a key of ours would keep no secret, and costs",
}


@pytest.mark.skipif(CHECKOV is None, reason="checkov is not installed: uv tool install checkov")
def test_checkov_finds_nothing_that_is_not_meant_so(assemblies: Path) -> None:
    templates = [
        *(assemblies / "full-speech").glob("*.template.json"),
        *(assemblies / "plain-speech").glob("*-endpoint.template.json"),
        *(assemblies / "agent").glob("*.template.json"),
    ]
    assert len(templates) == 4
    line = [
        str(CHECKOV),
        "--compact",
        "--quiet",
        "--skip-download",
        "--framework",
        "cloudformation",
        "-o",
        "json",
        "-f",
    ]
    done = subprocess.run([*line, *map(str, templates)], capture_output=True, text=True, check=False, timeout=600)
    told = json.loads(done.stdout)
    assert told["summary"]["parsing_errors"] == 0
    assert told["summary"]["passed"] > 0
    found = {(check["check_id"], check["resource"]) for check in told["results"]["failed_checks"]}
    assert {check for check, _ in found} == set(MEANT), found
