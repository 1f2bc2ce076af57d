# shellcheck shell=bash
# Sourced by the scripts beside it: messages, and packages of the system.

say() { printf '%s\n' "$*"; }
fail() {
  printf 'error: %s\n' "$*" >&2
  exit 1
}
have() { command -v "$1" >/dev/null 2>&1; }
is_root() { [ "$(id -u)" -eq 0 ]; }

# can_install: whether system packages can be installed here, as root or through sudo.
can_install() { have apt-get && { is_root || have sudo; }; }

as_root() {
  if is_root; then "$@"; else sudo "$@"; fi
}

# apt_install PACKAGE...: installs them, after a look for their newest versions.
apt_install() {
  say "Installing system packages: $*"
  is_root || say "sudo may ask for your password."
  as_root apt-get update -qq
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >/dev/null
}

# up_to_date STAMP FILE...: whether STAMP was written for these contents of the files.
up_to_date() {
  local stamp=$1
  shift
  [ "$(cat "$stamp" 2>/dev/null)" = "$(fingerprint "$@")" ]
}

fingerprint() { cat "$@" | cksum; }
