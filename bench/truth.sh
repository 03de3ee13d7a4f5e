#!/usr/bin/env bash
# The long form of the tests that a stranger's models, blocks of the docs and a
# hostile world make, with a summary:
#   bench/truth.sh [FILE]      default: bench/results/truth.txt
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/lib.sh

file=${1:-bench/results/truth.txt}
python=$(braid_python)
log=$(mktemp)
trap 'rm -f "$log"' EXIT
tests=(strangers first_weights narrow_losses hostile docs data_values train_best)
status=0

# summary NAME: what pytest says at its end, without the time.
summary() {
  sed -n '$s/ in [0-9.]*s.*//p' "$log" | sed 's/^=* *//'
}

{
  echo "# $(basename "$0"): BRAID_TEST_LONG=1 pytest tests/e2e/test_NAME.py"
  echo "# $("$python" -c 'import torch; print("torch", torch.__version__)'), $(
    build/braid --version)"
} >"$file"
for name in "${tests[@]}"; do
  say "truth: $name"
  BRAID_TEST_LONG=1 BRAID_BIN="$PWD/build/braid" "$python" -m pytest -q \
    -p no:cacheprovider "tests/e2e/test_$name.py" >"$log" 2>&1 || status=1
  tail -n 1 "$log"
  printf '%-16s %s\n' "$name" "$(summary)" >>"$file"
done
exit "$status"
