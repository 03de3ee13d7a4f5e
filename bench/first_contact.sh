#!/usr/bin/env bash
# The tests of what a newcomer looks for on the first day, with a summary: models of
# libraries the whole way, mixtures of experts, data of all kinds, longer runs,
# evaluation and prediction.
#   bench/first_contact.sh [FILE]      default: bench/results/first_contact.txt
set -euo pipefail
cd "$(dirname "$0")/.."
file=${1:-bench/results/first_contact.txt}
source bench/_long_forms.sh

experts=$(PYTHONPATH=tests/e2e:scripts "$python" -c '
from modules import hf_moe
print(" or ".join(f"{name}-" for name in hf_moe.CASES))')
begin
check whole_way 1
check import 1 -k "$experts"
echo "                 (import: mixtures of experts, $(
  wc -w <<<"${experts// or / }") modules in f64 and f32)" >>"$file"
for name in grouped streams data_split data_arrays data_tables augment get_data \
  train_extend fine_tuning job_lists results metrics norms schedules eval \
  predict inspect_stats; do
  check "$name" 1
done
exit "$status"
