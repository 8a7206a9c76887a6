#!/usr/bin/env bash
# Outputs which toolchains the checkout in the current directory needs. It reads file names and versions; nothing in the
# checkout is executed.
set -euo pipefail

output() {
  echo "$1=$2" >> "$GITHUB_OUTPUT"
}

# The first of these files that exists, or nothing.
first() {
  local file
  for file in "$@"; do
    if [[ -f "$file" ]]; then
      echo "$file"
      return
    fi
  done
}

# The first such file in the checkout, nearest to its root, outside of samples and installed packages.
nearest() {
  find . -maxdepth 4 \( -name node_modules -o -name vendor -o -name '.git' -o -name 'test*' -o -name 'example*' -o -name docs \) -prune \
    -o -type f -name "$1" -printf '%d %P\n' | sort -n -k 1,1 -k 2 | head -n 1 | cut -d ' ' -f 2-
}

if [[ -n "${PYTHON_VERSION:-}" ]]; then
  output python "$PYTHON_VERSION"
elif [[ -f .python-version ]]; then
  output python-file .python-version
elif grep -qsE '^[[:space:]]*requires-python[[:space:]]*=' pyproject.toml; then
  output python-file pyproject.toml
else
  output python 3.11
fi

manifest="$(nearest package.json)"
if [[ -n "$manifest" ]]; then
  versions="$(first .nvmrc .node-version .tool-versions)"
  if [[ -z "$versions" ]] && grep -qE '"(engines|volta|devEngines)"' "$manifest"; then
    versions="$manifest"
  fi
  if [[ -n "$versions" ]]; then
    output node-file "$versions"
  else
    output node 'lts/*'
  fi
  home="$(dirname "$manifest")"
  # `packageManager` names a version, as in "pnpm@9.1.0+sha512…"; otherwise the lock file names the program.
  named="$(sed -nE 's/.*"packageManager"[[:space:]]*:[[:space:]]*"((pnpm|yarn)@[0-9][0-9A-Za-z.-]*).*/\1/p' "$manifest" | head -n 1)"
  if [[ -n "$named" ]]; then
    output manager "$named"
  elif [[ -f "$home/pnpm-lock.yaml" ]]; then
    output manager pnpm
  elif [[ -f "$home/yarn.lock" ]]; then
    output manager yarn
  fi
fi

output go-file "$(nearest go.mod)"
if [[ -n "$(nearest Cargo.toml)" ]]; then
  output rust true
fi
