#!/usr/bin/env bash
# Configures and builds a preset (release by default), or only some targets of it:
#   scripts/build.sh [PRESET [TARGET...]]
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/lib.sh

preset=${1:-release}
targets=("${@:2}")
started=$SECONDS
say "build: configuring $preset"
configure "$preset" "-DBRAID_PYTHON=$(braid_python)"
cmake --build --preset "$preset" ${targets:+--target "${targets[@]}"}
say "build: done in $((SECONDS - started)) s"
