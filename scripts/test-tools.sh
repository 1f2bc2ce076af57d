#!/usr/bin/env bash
# Installs what the tests need beside Python: tools for container images, redis-server, iproute2, Prometheus and Chromium, the npm
# packages of the tests that have some, and into .venv Node.js itself, where the machine has none that is recent enough. Does
# nothing when nothing has changed.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=scripts/common.sh
. scripts/common.sh

NODE_TESTS=(tests/clients/node tests/monitoring/schema)
PATH="$PWD/.venv/bin:$PATH"

suitable_node() { have npm && node -e 'process.exit(parseInt(process.versions.node) < 20 ? 1 : 0)' >/dev/null 2>&1; }

scripts/image-tools.sh || say "Going on without them: tests/image will fail."

if ! have redis-server; then
  can_install || fail "the tests of shared counts need redis-server: as root, install the package redis-server."
  apt_install redis-server
fi

if ! have ip; then
  # Without it, or where namespaces are not allowed, a proxy stands in for a broken network.
  if can_install; then apt_install iproute2; else say "Going on without the command ip: no test parts a network in earnest."; fi
fi

if ! { have prometheus && have promtool; }; then
  can_install || fail "the tests of metrics and alerts need prometheus and promtool: as root, install the package prometheus."
  apt_install prometheus
fi

if ! { have chromium || have google-chrome; }; then
  can_install || fail "the tests of the live page need Chromium: as root, install the package chromium."
  apt_install chromium
fi

if ! suitable_node; then
  say "Installing Node.js into .venv (requirements-node.lock, 61 MB)"
  .venv/bin/python -m pip install --disable-pip-version-check --quiet --require-hashes -r requirements-node.lock
fi
for folder in "${NODE_TESTS[@]}"; do
  stamp=$folder/node_modules/.installed
  inputs=("$folder/package.json" "$folder/package-lock.json")
  up_to_date "$stamp" "${inputs[@]}" && continue
  say "Installing npm packages ($folder)"
  npm ci --prefix "$folder" --no-audit --no-fund --loglevel=error
  fingerprint "${inputs[@]}" >"$stamp"
done
