#!/usr/bin/env bash
# Runs every test after a release build and ends with one summed line.
#   scripts/test.sh            all C++ and Python tests, sanitizers, fuzzing
#   scripts/test.sh --long     the same with the long forms switched on, lint --each
#   scripts/test.sh --quick    without sanitizers and fuzzing
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/lib.sh

python=$(braid_python)
fuzz_seconds=20
limit_seconds=900 # per test program; a hang is a failure
quick=0 long=0
case "${1:-}" in
  --long)
    long=1
    export BRAID_TEST_LONG=1
    fuzz_seconds=300
    limit_seconds=7200
    ;;
  --quick) quick=1 ;;
  "") ;;
  *) die "unknown option '$1'; known: --long, --quick" ;;
esac

results=build/test-results
rm -rf "$results"
mkdir -p "$results"
passed=0 failed=0 skipped=0

# tally NAME PASSED FAILED SKIPPED: adds to the sums and prints one line.
tally() {
  passed=$((passed + $2)) failed=$((failed + $3)) skipped=$((skipped + $4))
  printf '%6d passed %4d failed %4d skipped %6ds\n' "$2" "$3" "$4" \
    $((SECONDS - started))
  if (($3 > 0)); then without_passes <"$results/$1.log" | tail -n 150; fi
}

# A GoogleTest log without its passed tests; a crashed one keeps its RUN line.
without_passes() {
  awk '/^\[ RUN/ { held = $0 "\n"; next }
       /^\[       OK/ { held = ""; next }
       { printf "%s%s\n", held, $0; held = "" }'
}

start() {
  started=$SECONDS
  printf '  %-28s' "$1"
}

# run_one PROGRAM NAME: one test program, with its log, report and exit code.
run_one() {
  local code=0 began=$SECONDS
  timeout "$limit_seconds" "$1" "--gtest_output=xml:$results/$2.xml" \
    </dev/null >"$results/$2.log" 2>&1 || code=$?
  [[ $code -eq 0 ]] || echo "exit code $code" >>"$results/$2.log"
  echo "$code $((SECONDS - began))" >"$results/$2.code"
}
export -f run_one
export results limit_seconds

# run_gtests FOLDER PREFIX: every test program of one build, as many at once
# as there are cores; what they gave is printed in the order of the list.
run_gtests() {
  local name code seconds
  xargs -P "$(nproc)" -I NAME bash -c "run_one '$1/tests/NAME' '$2NAME'" \
    <"$1/test_list.txt" &
  while read -r name; do
    start "$2$name"
    while [[ ! -s $results/$2$name.code ]]; do sleep 0.2; done
    read -r code seconds <"$results/$2$name.code"
    started=$((SECONDS - seconds))
    # shellcheck disable=SC2046
    tally "$2$name" \
      $("$python" scripts/count_tests.py "$results/$2$name.xml" "$code")
  done <"$1/test_list.txt"
  wait
}

# build_variant PRESET [-D...]: false, counted as a failure, if it breaks.
build_variant() {
  start "build $1"
  if configure "$@" >"$results/build $1.log" 2>&1 &&
    cmake --build --preset "$1" >>"$results/build $1.log" 2>&1; then
    tally "build $1" 0 0 0
  else
    tally "build $1" 0 1 0
    return 1
  fi
}

run_python_tests() {
  local folders=() folder code=0 parallel=()
  for folder in tests python; do
    [[ -d $folder ]] && folders+=("$folder")
  done
  # Whole files side by side, where the environment can.
  if "$python" -c 'import xdist' 2>/dev/null; then
    parallel=(-n auto --dist loadfile)
  fi
  start pytest
  echo
  BRAID_BIN="$PWD/build/braid" timeout $((2 * limit_seconds)) \
    "$python" -m pytest -q -p no:cacheprovider "${parallel[@]}" \
    --junitxml="$results/pytest.xml" "${folders[@]}" || code=$?
  [[ $code -ne 5 ]] || code=0 # no tests at all
  : >"$results/pytest.log"
  printf '  %-28s' ""
  # shellcheck disable=SC2046
  tally pytest $("$python" scripts/count_tests.py "$results/pytest.xml" $code)
}

# A target passes when it finds nothing within its time.
run_fuzz_target() {
  local name=$1 corpus=build-fuzz/corpus/$1 seeds=tests/fuzz/seeds/${1%_fuzz}
  mkdir -p "$corpus"
  [[ -d $seeds ]] || seeds=
  start "$name"
  if "build-fuzz/fuzz/$name" -max_total_time="$fuzz_seconds" -timeout=10 \
    -rss_limit_mb=4096 -artifact_prefix="$results/$name-" "$corpus" $seeds \
    </dev/null >"$results/$name.log" 2>&1; then
    tally "$name" 1 0 0
  else
    tally "$name" 0 1 0
  fi
}

# One clang build serves both; without clang, g++ and no fuzzing.
run_sanitizers() {
  local clang name
  say "sanitizers: ASan and UBSan on the layers without torch"
  if ! clang=$(find_llvm clang++); then
    if build_variant asan; then run_gtests build-asan asan-; fi
    say "fuzzing: left out, there is no clang 16 or newer"
    start fuzz
    tally fuzz 0 0 "$(find tests -path '*/fuzz/*_fuzz.cpp' | wc -l)"
    return
  fi
  build_variant fuzz "-DCMAKE_CXX_COMPILER=$clang" || return 0
  run_gtests build-fuzz asan-
  say "fuzzing: $fuzz_seconds s per target"
  while read -r name; do
    run_fuzz_target "$name"
  done <build-fuzz/fuzz_list.txt
}

# Shows a source that lacks an include, which `make lint` may not.
run_each_lint() {
  start "lint --each"
  if scripts/lint.sh --each >"$results/lint --each.log" 2>&1; then
    tally "lint --each" 1 0 0
  else
    tally "lint --each" 0 1 0
  fi
}

say "C++ tests"
run_gtests build ""
say "Python tests"
run_python_tests
((quick)) || run_sanitizers
((!long)) || run_each_lint
say "reports and logs: $results"
echo "$passed passed, $failed failed, $skipped skipped"
((failed == 0))
