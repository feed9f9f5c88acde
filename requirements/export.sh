#!/usr/bin/env bash
# Writes the pinned, hashed requirements of CI and images from pyproject.toml. Run it after a change of dependencies.
set -euo pipefail
cd "$(dirname "$0")/.."
export_to() { uv export -q --no-header --no-annotate --no-emit-project --format requirements-txt "${@:2}" -o "$1"; }
uv lock -q "$@"
export_to requirements/dev.txt
export_to requirements/torch.txt --extra torch
export_to container/kokoro/requirements-fetch.txt --only-group fetch
export_to container/kokoro/requirements-onnx.txt --no-default-groups --extra kokoro
export_to container/kokoro/requirements-torch.txt --no-default-groups --extra torch
