#!/usr/bin/env bash
# Installs what the tests need beside Python: Node.js, and the packages of the tests with the official npm client.
# Does nothing when nothing has changed.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=scripts/common.sh
. scripts/common.sh

NODE_TESTS=tests/clients/node
STAMP=$NODE_TESTS/node_modules/.installed
INPUTS=("$NODE_TESTS/package.json" "$NODE_TESTS/package-lock.json")

# Command and Debian package.
TOOLS=(node:nodejs npm:npm)

missing=()
for tool in "${TOOLS[@]}"; do
  have "${tool%%:*}" || missing+=("${tool##*:}")
done
if [ ${#missing[@]} -gt 0 ]; then
  can_install || fail "the tests need ${missing[*]}, and neither apt-get as root nor sudo is at hand: install by hand." \
    "The gateway and the demo (make demo) do without."
  apt_install "${missing[@]}"
fi
up_to_date "$STAMP" "${INPUTS[@]}" && exit 0
say "Installing the npm client's packages ($NODE_TESTS)"
npm ci --prefix "$NODE_TESTS" --no-audit --no-fund --loglevel=error
fingerprint "${INPUTS[@]}" >"$STAMP"
