#!/usr/bin/env bash
# Installs what the tests of the container image need: buildah and podman, which need no daemon, with runc and conmon,
# and mmdebstrap, which makes the file system to build on. Does nothing when they are there already.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=scripts/common.sh
. scripts/common.sh

# What Debian's mmdebstrap knows its packages by; other distributions package it apart.
KEYRING=/usr/share/keyrings/debian-archive-keyring.gpg
# Where runc is, and not in the PATH of everybody.
PATH="$PATH:/usr/sbin:/sbin"

missing=()
for tool in buildah podman runc conmon mmdebstrap; do
  have "$tool" || missing+=("$tool")
done
[ -e "$KEYRING" ] || missing+=(debian-archive-keyring)
[ ${#missing[@]} -gt 0 ] || exit 0
can_install || fail "the tests of the container image (tests/image) need ${missing[*]}: install them as root." \
  "They need Linux; packages of these names are in Debian 12 and Ubuntu 24.04."
apt_install "${missing[@]}"
