# Long forms of tests with a summary, a line for each file; sourced by others.
# `file` is where it goes.
source scripts/lib.sh

python=$(braid_python)
log=$(mktemp)
trap 'rm -f "$log"' EXIT
status=0
parallel=()
if "$python" -c 'import xdist' 2>/dev/null; then parallel=(-n auto); fi

# summary: what pytest says at its end, without the time.
summary() {
  sed -n '$s/ in [0-9.]*s.*//p' "$log" | sed 's/^=* *//'
}

begin() {
  {
    echo "# $(basename "$0"): pytest tests/e2e/test_NAME.py"
    echo "# $("$python" -c 'import torch; print("torch", torch.__version__)'), $(
      build/braid --version)"
  } >"$file"
}

# check NAME FORM [OPTION...]: one file of tests, a line for it; FORM is 1 or empty.
check() {
  local name=$1 form=$2
  shift 2
  say "$(basename "$0" .sh): $name"
  BRAID_TEST_LONG=$form BRAID_BIN="$PWD/build/braid" "$python" -m pytest -q \
    -p no:cacheprovider "${parallel[@]}" "tests/e2e/test_$name.py" "$@" \
    >"$log" 2>&1 || status=1
  grep -E '^(FAILED|ERROR) ' "$log" || true
  tail -n 1 "$log"
  printf '%-16s %s%s\n' "$name" "$(summary)" "${form:+, long form}" >>"$file"
}

# check_program PROGRAM [FILTER]: the long form of C++ tests, a line for them.
check_program() {
  local program=$1 filter=${2:-*}
  say "$(basename "$0" .sh): $program $filter"
  BRAID_TEST_LONG=1 "build/tests/${program}_tests" --gtest_filter="$filter" \
    >"$log" 2>&1 || status=1
  grep -E '^\[  FAILED' "$log" || true
  printf '%-16s %s%s, long form\n' "$program" \
    "$(sed -n 's/^\[  PASSED  \] \([0-9]*\) tests\?\./\1 passed/p' "$log")" \
    "$(sed -n 's/^ *\([0-9]*\) FAILED TESTS\?$/, \1 failed/p' "$log")" | tee -a "$file"
}
