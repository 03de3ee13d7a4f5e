#!/usr/bin/env bash
# The tests that a stranger's models, blocks of the docs and a hostile world make,
# with a summary:
#   bench/truth.sh [FILE]      default: bench/results/truth.txt
set -euo pipefail
cd "$(dirname "$0")/.."
file=${1:-bench/results/truth.txt}
source bench/_long_forms.sh

begin
for name in strangers first_weights narrow_losses hostile_files hostile_runs \
  data_values train_best train_changes train_mishaps; do
  check "$name" 1
done
check docs "" # blocks that train to the end are cut short
exit "$status"
