#!/usr/bin/env bash
# Format, layer order, Python and clang-tidy.
#   scripts/lint.sh            clang-tidy takes several sources at once
#   scripts/lint.sh --each     clang-tidy takes each source alone: 4 times longer
#   scripts/lint.sh --fix      formats
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/lib.sh

python=$(braid_python)
status=0
run() {
  local started=$SECONDS label=$1
  shift
  if "$@"; then
    say "lint: $label ok ($((SECONDS - started)) s)"
  else
    say "lint: $label FAILED"
    status=1
  fi
}

# cpp_files FOLDER...: our C++ and CUDA sources below them.
cpp_files() {
  find "$@" -name '*.h' -o -name '*.cpp' -o -name '*.cu' -o -name '*.cuh' \
    2>/dev/null | sort
}

check_format() {
  local clang_format files mode=(--dry-run -Werror)
  [[ ${fix:-} == 1 ]] && mode=(-i)
  clang_format=$(find_llvm clang-format) || {
    say "clang-format 16 or newer not found"
    return 1
  }
  files=$(for d in src tests bench examples; do [[ ! -d $d ]] || cpp_files $d; done)
  [[ -z $files ]] || xargs "$clang_format" "${mode[@]}" <<<"$files"
}

check_python() {
  local folders=() d
  for d in scripts tests bench python examples; do
    [[ -d $d ]] && folders+=("$d")
  done
  if "$python" -m ruff --version >/dev/null 2>&1; then
    "$python" -m ruff check --quiet "${folders[@]}"
  else
    "$python" -m compileall -q "${folders[@]}"
  fi
}

# Only layers without torch: torch's headers would take minutes.
check_tidy() {
  local tidy clang files
  tidy=$(find_llvm clang-tidy) && clang=$(find_llvm clang++) || {
    say "clang-tidy 16 or newer not found"
    return 1
  }
  configure debug -B build-lint -DBRAID_TORCH=OFF -DBRAID_TESTS=OFF \
    "-DCMAKE_CXX_COMPILER=$clang" -DCMAKE_CXX_COMPILER_LAUNCHER= \
    -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON || return 1
  files=$(find src/braid -name '*.cpp' -not -path '*/runtime/kernels/*' \
    -not -path '*/comm/c10d/*' -not -path '*/cli/*' | sort)
  # shellcheck disable=SC2086
  [[ -z $files ]] ||
    "$python" scripts/tidy.py "${each[@]}" build-lint "$tidy" $files
}

each=()
case "${1:-}" in
  --fix) fix=1 ;;
  --each) each=(--each) ;;
  "") ;;
  *) die "unknown option '$1'; known: --each, --fix" ;;
esac
run "clang-format" check_format
run "layer order" "$python" scripts/check_layers.py
run "python" check_python
run "clang-tidy" check_tidy
exit $status
