#!/usr/bin/env bash
# Makes .venv-sglang with a real SGLang for the tests in tests/sglang, on a machine without a GPU. Does nothing when nothing
# has changed. 1.5 GB, one to two minutes. PYTHON=... names a Python 3.11, for which the packages are pinned.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=scripts/common.sh
. scripts/common.sh

VENV=.venv-sglang
STAMP=$VENV/.installed
INPUTS=(tests/sglang/requirements.lock tests/sglang/runtime/shim.py tests/sglang/runtime/custom_ops.py scripts/sglang-venv.sh)
PYTHON=${PYTHON:-python3.11}

up_to_date "$STAMP" "${INPUTS[@]}" && exit 0
started=$SECONDS
"$PYTHON" -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))' 2>/dev/null ||
  fail "the tests with a real SGLang need Python 3.11: install it, or name it by PYTHON=/path/to/python3.11"
rm -f "$STAMP"
[ -x "$VENV/bin/python" ] || "$PYTHON" -m venv --clear "$VENV"
say "Installing SGLang for CPUs into $VENV (tests/sglang/requirements.lock, 1.5 GB)"
"$VENV/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes \
  -r tests/sglang/requirements.lock
site=$("$VENV/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
# In every process of SGLang, before anything else.
install -m 644 tests/sglang/runtime/shim.py "$site/sglang_on_cpu.py"
echo 'import sglang_on_cpu' >"$site/sglang_on_cpu.pth"
mkdir -p "$site/vllm"
: >"$site/vllm/__init__.py"
install -m 644 tests/sglang/runtime/custom_ops.py "$site/vllm/_custom_ops.py"
fingerprint "${INPUTS[@]}" >"$STAMP"
say "Installed in $((SECONDS - started)) s."
