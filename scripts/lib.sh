# Shared by the scripts beside it: sourced, from the repository root.

say() { printf '\033[1m[braid]\033[0m %s\n' "$*"; }
[[ -t 1 ]] || say() { printf '[braid] %s\n' "$*"; }

die() {
  printf '[braid] error: %s\n' "$*" >&2
  exit 1
}

# Full path of the Python that holds torch: $PYTHON, else the local environment.
braid_python() {
  local python
  python=$(command -v "${PYTHON:-.venv/bin/python}") ||
    die "no Python at '${PYTHON:-.venv/bin/python}'; run 'make setup' first"
  [[ $python == /* ]] || python=$PWD/$python
  echo "$python"
}

# find_llvm clang++: path of clang++-16, else of the next newer one there is.
find_llvm() {
  local version name
  for version in $(seq 16 30); do
    name="$1-$version"
    command -v "$name" && return
  done
  version=$("$1" --version 2>/dev/null |
    sed -n 's/.*version \([0-9]*\)\..*/\1/p' | head -1)
  [[ ${version:-0} -ge 16 ]] && command -v "$1"
}

# configure PRESET [-DNAME=VALUE ...]: quiet unless it fails.
configure() {
  local log
  log=$(mktemp)
  if ! cmake --preset "$@" >"$log" 2>&1; then
    cat "$log" >&2
    rm -f "$log"
    return 1
  fi
  grep -E '^-- (torch|CUDA kernels)' "$log" || true
  rm -f "$log"
}
