#!/usr/bin/env bash
# Trains LeNet on drawn digits and letters: examples/glyphs_lenet.yaml.
#   scripts/demo.sh [KEY=VALUE...]
# DEMO_OUT=DIR takes another folder than build/demo; what is in it is removed.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/lib.sh

folder=${DEMO_OUT:-build/demo}
rm -rf "$folder"
"${BRAID_BIN:-build/braid}" train examples/glyphs_lenet.yaml --out "$folder" "$@"
accuracy=$(sed -n 's/.*"split":"eval".*"accuracy":\([0-9.]*\).*/\1/p' "$folder/metrics.jsonl" | tail -1)
say "accuracy $accuracy on drawings that it never saw; results: $folder"
