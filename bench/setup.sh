#!/usr/bin/env bash
# Installs what the benchmark needs and the machine lacks: nginx, wrk and gcc from Debian, the other proxies into
# .venv-bench (the versions in bench/requirements.lock), and what Spillway needs into .venv-bench-python, which has an
# interpreter built with profile-guided optimisation, as the container image's is. Does nothing the second time.
set -euo pipefail
cd "$(dirname "$0")/.."
PATH="$PATH:/usr/sbin"

say() { printf 'bench/setup: %s\n' "$*" >&2; }

as_root() {
    if [ "$(id -u)" -eq 0 ]; then "$@"; else
        say "needs root for: $*"
        sudo "$@"
    fi
}

python=.venv/bin/python
[ -x "$python" ] || python=python3

# The distribution's own interpreter is built for speed; one that somebody built for himself often is not.
optimised=/usr/bin/python3
[ -x "$optimised" ] && "$optimised" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || optimised=$python

missing=()
command -v nginx >/dev/null || missing+=(nginx-light)
command -v wrk >/dev/null || missing+=(wrk)
command -v gcc >/dev/null || missing+=(gcc libc6-dev)
"$python" -c 'import ensurepip' 2>/dev/null && "$optimised" -c 'import ensurepip' 2>/dev/null || missing+=(python3-venv)

if [ ${#missing[@]} -gt 0 ]; then
    if ! command -v apt-get >/dev/null; then
        say "please install by hand (no apt-get here): ${missing[*]}"
        exit 1
    fi
    say "installing from Debian: ${missing[*]}"
    as_root apt-get update -q
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "${missing[@]}"
fi

# The copy of the lock inside the environment says what is installed there.
if ! cmp -s bench/requirements.lock .venv-bench/installed.lock; then
    say "installing Envoy, smg and vllm-router into .venv-bench (about 360 MB)"
    "$python" -m venv --clear .venv-bench
    .venv-bench/bin/python -m pip install --disable-pip-version-check --progress-bar on --require-hashes \
        -r bench/requirements.lock
    cp bench/requirements.lock .venv-bench/installed.lock
fi

if ! cmp -s requirements-image.lock .venv-bench-python/installed.lock; then
    say "installing what Spillway needs into .venv-bench-python, with $("$optimised" --version) of $optimised"
    "$optimised" -m venv --clear .venv-bench-python
    .venv-bench-python/bin/python -m pip install --disable-pip-version-check --progress-bar on --require-hashes \
        -r requirements-image.lock
    cp requirements-image.lock .venv-bench-python/installed.lock
fi

say "ready: $(nginx -v 2>&1 | sed 's/.*: //'), $(wrk -v 2>&1 | sed -n 's/^\(wrk [^ ]*\).*/\1/p'), $(ls -d .venv-bench)"
