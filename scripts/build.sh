#!/usr/bin/env bash
# Configures and builds a preset (release by default): scripts/build.sh [PRESET]
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/lib.sh

preset=${1:-release}
started=$SECONDS
say "build: configuring $preset"
configure "$preset" "-DBRAID_PYTHON=$(braid_python)"
cmake --build --preset "$preset"
say "build: done in $((SECONDS - started)) s"
