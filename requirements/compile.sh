#!/usr/bin/env bash
# Write the lock files anew from pyproject.toml: names, versions and hashes, and nothing about where they came from.
# Needs pip-tools and dependency-groups, both in requirements/dev.txt. Arguments go to pip-compile (--upgrade).
set -euo pipefail
cd "$(dirname "$0")/.."

export CUSTOM_COMPILE_COMMAND="make lock"
flags=(--quiet --generate-hashes --strip-extras --allow-unsafe --annotation-style=line
  --no-emit-index-url --no-emit-trusted-host --no-emit-find-links --no-emit-options)

group() { python -m dependency_groups "$1"; }

pip-compile "${flags[@]}" "$@" --output-file=requirements/runtime.txt pyproject.toml
group build | pip-compile "${flags[@]}" "$@" --constraint=requirements/runtime.txt --output-file=requirements/build.txt -
(group build && group dev) | pip-compile "${flags[@]}" "$@" --constraint=requirements/runtime.txt \
  --constraint=requirements/build.txt --output-file=requirements/dev.txt pyproject.toml -
pip-compile "${flags[@]}" "$@" --extra=fleet --extra=fleet-server --extra=ssh --constraint=requirements/dev.txt \
  --output-file=requirements/fleet.txt pyproject.toml
group mutation | pip-compile "${flags[@]}" "$@" --constraint=requirements/dev.txt --output-file=requirements/mutation.txt -
group browser | pip-compile "${flags[@]}" "$@" --constraint=requirements/dev.txt --output-file=requirements/browser.txt -
group docs | pip-compile "${flags[@]}" "$@" --constraint=requirements/dev.txt --output-file=requirements/docs.txt -

if grep -nE '^[^#]*(://|file:|[[:space:]]@[[:space:]])|^-' requirements/*.txt; then
  echo "requirements/: a lock file names a place" >&2
  exit 1
fi
