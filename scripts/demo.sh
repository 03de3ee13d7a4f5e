#!/usr/bin/env bash
# Trains examples/sweep_lenet.yaml, 16 LeNets as one array, and says how long
# the same 16 would take one after another, from steps timed in between.
#   scripts/demo.sh [KEY=VALUE...]
# DEMO_OUT=DIR takes another folder than build/demo; what is in it is removed.
# DEMO_STEPS=N times N steps in each of four rounds (50).
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/lib.sh

exec "$(braid_python)" scripts/demo.py --braid "${BRAID_BIN:-build/braid}" \
  --out "${DEMO_OUT:-build/demo}" --steps "${DEMO_STEPS:-50}" "$@"
