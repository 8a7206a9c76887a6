#!/usr/bin/env bash
# Installs pnpm or yarn (MANAGER, as in `pnpm` or `pnpm@9.1.0`) and the Rust toolchain, if RUST is set.
set -euo pipefail
checkout="$PWD"

if [[ -n "${MANAGER:-}" ]]; then
  name="${MANAGER%%@*}"
  package="$MANAGER"
  if [[ "$MANAGER" =~ ^yarn@([2-9]|[0-9]{2}) ]]; then
    package="@yarnpkg/cli-dist@${MANAGER#yarn@}"
  fi
  if [[ "$MANAGER" == *@* ]] || ! command -v "$name" > /dev/null; then
    # Outside of the checkout, whose .npmrc could name another registry.
    (cd "${RUNNER_TEMP:-/tmp}" && npm install --global --ignore-scripts --no-audit --no-fund "$package")
  fi
fi

if [[ -n "${RUST:-}" ]]; then
  if command -v rustup > /dev/null; then
    cd "$checkout"
    rustup show active-toolchain || rustup toolchain install # the one in rust-toolchain.toml, else the default
  elif ! command -v cargo > /dev/null; then
    echo "::error title=prd2pr::the project needs Rust, and this runner has neither rustup nor cargo: install rustup on it"
    exit 1
  fi
fi
