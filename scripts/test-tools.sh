#!/usr/bin/env bash
# Installs what the tests need beside Python: tools for container images, the packages of the tests with the official npm
# client, and into .venv Node.js itself, where the machine has none that is recent enough. Does nothing when nothing has
# changed.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=scripts/common.sh
. scripts/common.sh

NODE_TESTS=tests/clients/node
STAMP=$NODE_TESTS/node_modules/.installed
INPUTS=("$NODE_TESTS/package.json" "$NODE_TESTS/package-lock.json")
PATH="$PWD/.venv/bin:$PATH"

suitable_node() { have npm && node -e 'process.exit(parseInt(process.versions.node) < 20 ? 1 : 0)' >/dev/null 2>&1; }

scripts/image-tools.sh || say "Going on without them: tests/image will fail."

if ! have redis-server; then
  can_install || fail "the tests of shared counts need redis-server: as root, install the package redis-server."
  apt_install redis-server
fi

if ! suitable_node; then
  say "Installing Node.js into .venv (requirements-node.lock, 61 MB)"
  .venv/bin/python -m pip install --disable-pip-version-check --quiet --require-hashes -r requirements-node.lock
fi
up_to_date "$STAMP" "${INPUTS[@]}" && exit 0
say "Installing the npm client's packages ($NODE_TESTS)"
npm ci --prefix "$NODE_TESTS" --no-audit --no-fund --loglevel=error
fingerprint "${INPUTS[@]}" >"$STAMP"
