#!/usr/bin/env bash
# Makes a fresh Debian or Ubuntu machine ready: system packages, then a local
# Python environment (.venv) with torch. Safe to run again: a second run only
# looks. With PYTHON=... set, that environment is checked and nothing installed.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/lib.sh

packages=(
  g++ cmake ninja-build ccache make
  libgtest-dev libgmock-dev libcli11-dev libyaml-cpp-dev
  nlohmann-json3-dev libfmt-dev libpng-dev libjpeg-dev zlib1g-dev
  python3-venv
)

# In one go, so that nothing pulls another torch.
requirements=(scripts/requirements.txt tests/e2e/requirements.txt)

have_llvm() {
  find_llvm clang++ && find_llvm clang-format && find_llvm clang-tidy
} >/dev/null

# The oldest clang from 16 up that this distribution offers.
llvm_packages() {
  local version
  for version in $(seq 16 30); do
    if apt-cache show "clang-$version" >/dev/null 2>&1; then
      echo "clang-$version clang-format-$version clang-tidy-$version" \
        "libclang-rt-$version-dev"
      return
    fi
  done
  die "no clang 16 or newer in this distribution's package lists"
}

# Prints those of its arguments that are not installed.
missing_packages() {
  local installed package
  installed=" $(dpkg-query -W -f='${db:Status-Abbrev}${Package} ' "$@" \
    2>/dev/null | sed 's/ii /+/g' || true) "
  for package in "$@"; do
    [[ $installed == *"+$package "* ]] || echo "$package"
  done
}

install_packages() {
  local as_root=() missing llvm=""
  command -v dpkg-query >/dev/null ||
    die "packages can be installed on Debian and Ubuntu only; elsewhere
  install ${packages[*]} and clang >= 16 by hand, then use PYTHON=..."
  missing=$(missing_packages "${packages[@]}")
  if [[ -z $missing ]] && have_llvm; then
    say "system packages: all present"
    return
  fi
  if [[ $EUID -ne 0 ]]; then
    if ! sudo -n true 2>/dev/null; then
      have_llvm || llvm=$(llvm_packages)
      die "system packages are missing and there is no root access. Run:
  sudo apt-get update && sudo apt-get install -y" $missing $llvm
    fi
    as_root=(sudo)
  fi
  say "system packages: updating the package lists"
  "${as_root[@]}" apt-get update -qq
  have_llvm || llvm=$(llvm_packages)
  say "system packages: installing" $missing $llvm
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y \
    --no-install-recommends -o DPkg::Lock::Timeout=600 $missing $llvm
}

make_environment() {
  local stamp=.venv/.braid-stamp wanted
  wanted="$(cat "${requirements[@]}" | sha256sum) $(python3 -V)"
  if [[ -f $stamp && $(<"$stamp") == "$wanted" ]]; then
    say "python environment: .venv is up to date"
    return
  fi
  python3 -c 'import sys; sys.exit(sys.version_info < (3, 10))' ||
    die "need Python 3.10 or newer, found $(python3 -V)"
  say "python environment: creating .venv (torch is a large download)"
  python3 -m venv --clear .venv
  .venv/bin/python -m pip install --disable-pip-version-check \
    "${requirements[@]/#/--requirement=}"
  echo "$wanted" >"$stamp"
}

if [[ -n ${PYTHON:-} ]]; then
  torch=$("$PYTHON" scripts/find_torch.py) ||
    die "PYTHON=$PYTHON cannot be used"
  say "python environment: $PYTHON, torch $(cut -d';' -f2 <<<"$torch")"
else
  install_packages
  make_environment
fi
