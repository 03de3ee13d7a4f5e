#!/usr/bin/env bash
# Builds, checks training on a CUDA device against the CPU and writes a record:
#   bench/gpu_step.sh [FILE]      default: bench/results/gpu_spine.txt
# Logs are kept in build/gpu_logs.
# Errors are max |gpu - cpu| / max |cpu| of the worst tensor of the state. Times
# are for information: small models, inputs made and copied by the host in each
# step.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/lib.sh

file=${1:-bench/results/gpu_spine.txt}
python=$(braid_python)
command -v nvidia-smi >/dev/null || die "no nvidia-smi: is there a CUDA device?"
scripts/build.sh
logs=build/gpu_logs
rm -rf "$logs"
mkdir -p "$logs"
status=0

# check NAME SHARDS PROGRAM FILTER: runs tests in that many processes at once
# and keeps their output.
check() {
  local shard pids=() pid
  for ((shard = 0; shard < $2; ++shard)); do
    OMP_NUM_THREADS=2 GTEST_TOTAL_SHARDS=$2 GTEST_SHARD_INDEX=$shard \
      "build/tests/$3" --gtest_filter="$4" >"$logs/$1.$shard" 2>&1 &
    pids+=($!)
  done
  for pid in "${pids[@]}"; do wait "$pid" || status=1; done
  cat "$logs/$1".* | grep -v 'Warning: ' | tee "$logs/$1"
}
check kernels 1 runtime_tests 'KernelTable*'
check parity 8 parity_tests '*ParityOnGpu*'
check training 1 e2e_cpp_tests 'Gpu*'
BRAID_BIN=$PWD/build/braid "$python" -m pytest -q -p no:cacheprovider \
  tests/e2e/test_guest.py -k cuda -rA 2>&1 | tee "$logs/guests" || status=1

# results NAME: the lines of a gtest log that say how it ended.
results() { grep -E '^\[  (PASSED|SKIPPED|FAILED) ' "$logs/$1"; }
# rows NAME: those that failed, and how.
rows() { grep -E ' (is off by|throws|has other bits|has another shape)' "$logs/$1" || true; }
# records KIND: what the tests wrote down.
records() { sed -n "s/^record: $1 */  /p" "$logs/parity" "$logs/training"; }

mkdir -p "$(dirname "$file")"
{
  echo "Training on a CUDA device"
  echo "command   bench/gpu_step.sh"
  echo "date      $(date -u +%F)"
  echo "gpu       $(nvidia-smi --query-gpu=name --format=csv,noheader | head -1)"
  "$python" - <<'PYTHON'
import torch

print(f"torch     {torch.__version__}, CUDA {torch.version.cuda}, "
      f"cuDNN {torch.backends.cudnn.version()}")
PYTHON
  echo "compiler  $(nvcc --version | sed -n 's/.*release \([0-9.]*\).*/nvcc \1/p'), $(c++ -dumpfullversion | sed 's/^/c++ /')"
  echo
  echo "Every op has a kernel on the GPU"
  results kernels
  echo
  echo "Every row of the parity table on the GPU against libtorch on the CPU (f32"
  echo "within 1e-4, f64 within 1e-9), again with the same bits, and as an array of"
  echo "three; rows left out have no kernel in libtorch for CUDA"
  records parity
  rows parity
  echo
  echo "Tests of training on the GPU"
  results training
  echo
  echo "State after five steps against the CPU (f32 within 1e-4, f64 within 1e-9)"
  records cpu
  echo
  echo "State after twenty steps of every optimizer (f32 within 1e-4, f64 within 1e-11)"
  records update
  echo
  echo "Recorded steps against plain ones, bit by bit"
  records replay
  echo
  echo "Plans against the unplanned run (0 unless the host updates)"
  records plan
  echo
  echo "In a process of Python that uses torch on the same device (test_guest.py)"
  grep -E '^PASSED|^FAILED|^ERROR| (passed|failed)' "$logs/guests" |
    sed -E 's|tests/e2e/test_guest.py::||; s|, .* warnings? in .*||; s| in [0-9.]+s.*||'
} >"$file"
say "wrote $file"
exit $status
