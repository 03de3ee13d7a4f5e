#!/usr/bin/env bash
# The tests that a stranger's models, blocks of the docs and a hostile world make,
# with a summary:
#   bench/truth.sh [FILE]      default: bench/results/truth.txt
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/lib.sh

file=${1:-bench/results/truth.txt}
python=$(braid_python)
log=$(mktemp)
trap 'rm -f "$log"' EXIT
tests=(strangers first_weights narrow_losses hostile_files hostile_runs data_values
  train_best train_changes train_mishaps)
status=0
parallel=()
if "$python" -c 'import xdist' 2>/dev/null; then parallel=(-n auto); fi

# summary: what pytest says at its end, without the time.
summary() {
  sed -n '$s/ in [0-9.]*s.*//p' "$log" | sed 's/^=* *//'
}

{
  echo "# $(basename "$0"): pytest tests/e2e/test_NAME.py"
  echo "# $("$python" -c 'import torch; print("torch", torch.__version__)'), $(
    build/braid --version)"
} >"$file"
# check NAME FORM: one file of tests, a line for it.
check() {
  say "truth: $1"
  BRAID_TEST_LONG=$2 BRAID_BIN="$PWD/build/braid" "$python" -m pytest -q \
    -p no:cacheprovider "${parallel[@]}" "tests/e2e/test_$1.py" \
    >"$log" 2>&1 || status=1
  tail -n 1 "$log"
  printf '%-16s %s%s\n' "$1" "$(summary)" "${2:+, long form}" >>"$file"
}
for name in "${tests[@]}"; do check "$name" 1; done
check docs "" # blocks that train to the end are cut short
exit "$status"
