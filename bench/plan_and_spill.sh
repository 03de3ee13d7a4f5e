#!/usr/bin/env bash
# The tests of plans, with a summary: solvers and their bounds, programs under any
# timing, models of the zoo and exported ones under every decision, limits, files.
#   bench/plan_and_spill.sh [FILE]      default: bench/results/plan_and_spill.txt
set -euo pipefail
cd "$(dirname "$0")/.."
file=${1:-bench/results/plan_and_spill.txt}
source bench/_long_forms.sh

begin
check_program plan
check_program compile
check_program train '*Plan*'
check_program train_runs '*Plan*:Scratch*:*Overlap*:*Ahead*'
check_program e2e_cpp '*Plan*'
for name in plan_job plan_instance plans_exported profile spill memory; do
  check "$name" 1
done
exit "$status"
