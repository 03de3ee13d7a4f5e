#!/usr/bin/env bash
# Trains LeNet on drawn shapes and shows how its loss falls.
#   scripts/demo.sh [STEPS]
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/lib.sh

python=$(braid_python)
steps=${1:-300}
folder=build/demo
rm -rf "$folder"
mkdir -p "$folder"

say "data: 256 noisy pictures of discs, squares, crosses and rings"
"$python" scripts/demo_data.py "$folder/shapes.safetensors" 256
say "training: LeNet with AdamW, $steps steps"
"${BRAID_BIN:-build/braid}" step 'lenet(classes=4)' --inputs "$folder/shapes.safetensors" \
  --steps "$steps" --optimizer adamw --set lr=1e-3 --set weight_decay=0.01 \
  --seed 1 --out "$folder/run"
"$python" - "$folder/run/losses.json" <<'PYTHON'
import json
import sys

losses = json.load(open(sys.argv[1]))
print(f"[braid] loss of the first step {losses[0]:.4f}, of step {len(losses)} {losses[-1]:.4f}")
sys.exit(0 if losses[-1] < 0.5 * losses[0] else "[braid] error: the loss did not fall")
PYTHON
say "results: $folder/run (losses, gradients, state, memory)"
