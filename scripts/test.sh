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
parity_parts=16   # of which the sanitized kernels see one
quick=0 long=0
case "${1:-}" in
  --long)
    long=1
    export BRAID_TEST_LONG=1
    fuzz_seconds=300
    limit_seconds=7200
    parity_parts=1
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

# run_one FOLDER PROGRAM[@PART/PARTS] PREFIX: one test program, or a part of its
# tests, with its log, report and exit code.
run_one() {
  local code=0 began=$SECONDS name=$3${2//\//of} part=${2#*@}
  if [[ $2 == *@* ]]; then
    export GTEST_SHARD_INDEX=${part%/*} GTEST_TOTAL_SHARDS=${part#*/}
  fi
  set -- "$1/${2%@*}" "$name"
  timeout "$limit_seconds" "$1" "--gtest_output=xml:$results/$2.xml" \
    </dev/null >"$results/$2.log" 2>&1 || code=$?
  [[ $code -eq 0 ]] || echo "exit code $code" >>"$results/$2.log"
  echo "$code $((SECONDS - began))" >"$results/$2.code"
}
export -f run_one
export results limit_seconds

# The parity tests, by far the longest, as a part for each core; of sanitized ones
# a single part of many, and of other sanitized tests that take long a quarter.
in_parts() {
  local parts=$(nproc) k
  local -A quarters=([asan-models_tests]=1 [asan-train_tests]=1 [asan-compile_tests]=1)
  while read -r name; do
    if [[ -n ${quarters[$1$name]:-} && $long == 0 ]]; then
      echo "$name@$((${BRAID_TEST_SEED:-0} % 4))/4"
    elif [[ $name != parity_tests ]]; then
      echo "$name"
    elif [[ $1 == sanitized- ]]; then
      echo "$name@$((${BRAID_TEST_SEED:-0} % parity_parts))/$parity_parts"
    else
      for ((k = 0; k < parts; ++k)); do echo "$name@$k/$parts"; done
    fi
  done
}

# run_gtests FOLDER PREFIX: every test program of one build, as many at once
# as there are cores and the largest first, so that none is left to run alone;
# what they gave is printed in that order.
run_gtests() {
  local name code seconds list
  # shellcheck disable=SC2046
  list=$(cd "$1/tests" && ls -S $(<../test_list.txt) | in_parts "$2")
  xargs -P "$(nproc)" -I NAME bash -c "run_one '$1/tests' NAME '$2'" <<<"$list" &
  while read -r name; do
    name=${name//\//of}
    start "$2$name"
    while [[ ! -s $results/$2$name.code ]]; do sleep 0.2; done
    read -r code seconds <"$results/$2$name.code"
    started=$((SECONDS - seconds))
    # shellcheck disable=SC2046
    tally "$2$name" \
      $("$python" scripts/count_tests.py "$results/$2$name.xml" "$code")
  done <<<"$list"
  wait
}

# build_variant PRESET [-D...] [-- TARGET]: false, counted as a failure, if it
# breaks.
build_variant() {
  local name="build $1" options=() target=all
  while (($# > 0)); do
    if [[ $1 == -- ]]; then
      target=$2 name="build $2"
      break
    fi
    options+=("$1")
    shift
  done
  start "$name"
  if configure "${options[@]}" >"$results/$name.log" 2>&1 &&
    cmake --build --preset "${options[0]}" --target "$target" \
      >>"$results/$name.log" 2>&1; then
    tally "$name" 0 0 0
  else
    tally "$name" 0 1 0
    return 1
  fi
}

# run_python_tests NAME BINARY FILE...
run_python_tests() {
  local name=$1 binary=$2 code=0 parallel=()
  # Whole files side by side, where the environment can.
  if "$python" -c 'import xdist' 2>/dev/null; then
    # One more than cores: tests wait for programs that they stop and kill.
    parallel=(-n "$(($(nproc) + 1))" --dist loadfile)
  fi
  start "$name"
  echo
  BRAID_BIN="$binary" timeout $((2 * limit_seconds)) \
    "$python" -m pytest -q -p no:cacheprovider "${parallel[@]}" \
    --junitxml="$results/$name.xml" "${@:3}" || code=$?
  : >"$results/$name.log"
  printf '  %-28s' ""
  # shellcheck disable=SC2046
  tally "$name" $("$python" scripts/count_tests.py "$results/$name.xml" $code)
}

# A target passes when it finds nothing within its time.
run_fuzz_target() {
  local corpus=build-fuzz/corpus/$1 seeds=tests/fuzz/seeds/${1%_fuzz} code=0
  mkdir -p "$corpus"
  [[ -d $seeds ]] || seeds=
  "build-fuzz/fuzz/$1" -max_total_time="$fuzz_seconds" -timeout=10 \
    -rss_limit_mb=4096 -artifact_prefix="$results/$1-" "$corpus" $seeds \
    </dev/null >"$results/$1.log" 2>&1 || code=$?
  echo "$code" >"$results/$1.code"
}
export -f run_fuzz_target
export fuzz_seconds

run_fuzz_targets() {
  local name
  started=$SECONDS
  xargs -P "$(nproc)" -I NAME bash -c 'run_fuzz_target NAME' <build-fuzz/fuzz_list.txt
  while read -r name; do
    printf '  %-28s' "$name"
    if [[ $(<"$results/$name.code") -eq 0 ]]; then
      tally "$name" 1 0 0
    else
      tally "$name" 0 1 0
    fi
  done <build-fuzz/fuzz_list.txt
}

# One clang build serves both; without clang, g++ and no fuzzing.
run_sanitizers() {
  local clang
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
  run_fuzz_targets
}

# Their objects replace those of the release build; all else is shared with it.
run_sanitized_kernels() {
  say "sanitizers: ASan and UBSan on the kernels and the command line"
  build_variant release "-DBRAID_PYTHON=$python" \
    "-DBRAID_SANITIZED_ALL=$([[ $long == 1 ]] && echo ON || echo OFF)" \
    -- sanitized || return 0
  run_gtests build/sanitized sanitized-
  run_python_tests sanitized-pytest "$PWD/build/sanitized/tests/braid" \
    tests/e2e/test_errors.py
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
python_folders=(tests)
[[ ! -d python ]] || python_folders+=(python)
run_python_tests pytest "$PWD/build/braid" "${python_folders[@]}"
if ((!quick)); then
  run_sanitizers
  run_sanitized_kernels
fi
((!long)) || run_each_lint
say "reports and logs: $results"
echo "$passed passed, $failed failed, $skipped skipped"
((failed == 0))
