#!/bin/sh
# Gradescope runs this file as root when it builds the image. Ubuntu 22.04's own Python is too old, but it offers 3.11.
set -e
cd "$(dirname "$0")"
export DEBIAN_FRONTEND=noninteractive
apt-get update
apt-get install -y --no-install-recommends python3.11-venv || apt-get install -y --no-install-recommends python3-venv
"$(command -v python3.11 || command -v python3)" -m venv ../venv
../venv/bin/pip install --no-cache-dir --no-deps --require-hashes -r requirements.txt
if [ -e requirements-torch.txt ]; then
    ../venv/bin/pip install --no-cache-dir --no-deps --require-hashes \
        --index-url https://download.pytorch.org/whl/cpu -r requirements-torch.txt
fi
../venv/bin/python -m compileall -q .
chmod 700 .
