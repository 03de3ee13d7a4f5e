#!/usr/bin/env bash
# Runs the benchmark scripts: all of bench/*.py, or those named.
#   scripts/bench.sh [NAME ...]
# What only benchmarks need (bench/requirements.txt, for example JAX) goes into
# an environment of its own, .venv-bench. With PYTHON=... set, that one is used.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/lib.sh

python=$(braid_python)
if [[ -z ${PYTHON:-} && -f bench/requirements.txt ]]; then
  stamp=.venv-bench/.braid-stamp
  wanted=$(cat scripts/requirements.txt bench/requirements.txt | sha256sum)
  if [[ ! -f $stamp || $(<"$stamp") != "$wanted" ]]; then
    say "benchmark environment: creating .venv-bench"
    python3 -m venv --clear .venv-bench
    .venv-bench/bin/python -m pip install --disable-pip-version-check \
      -r scripts/requirements.txt -r bench/requirements.txt
    echo "$wanted" >"$stamp"
  fi
  python=$PWD/.venv-bench/bin/python
fi

if (($# > 0)); then
  names=("$@")
else
  names=()
  for file in bench/*.py; do
    [[ -f $file && $file != */_* ]] && names+=("$(basename "$file" .py)")
  done
fi
for name in "${names[@]}"; do
  [[ -f bench/$name.py ]] || die "no benchmark bench/$name.py"
  say "bench: $name"
  BRAID_BUILD="$PWD/build" "$python" "bench/$name.py"
done
