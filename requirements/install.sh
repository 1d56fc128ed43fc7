#!/usr/bin/env bash
# Make a private environment and install asyncstate into it, editable, with the locked dependencies.
#     requirements/install.sh FOLDER [runtime|fleet|dev|docs]...
# PYTHON names the interpreter (python3). Nothing outside FOLDER changes, but for one case: Debian splits `venv` into a
# package of its own; root on a machine without it gets that package, anybody else is told its name.
set -euo pipefail
cd "$(dirname "$0")/.."

folder=$1
shift
python=${PYTHON:-python3}

say() { printf '%s\n' "$*" >&2; }

require_python() {
  if ! command -v "$python" >/dev/null; then
    say "asyncstate needs Python 3.11 or newer, and there is no '$python'. Name one with PYTHON=/path/to/python3."
    exit 1
  fi
  if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
    say "asyncstate needs Python 3.11 or newer; '$python' is $("$python" --version). Name another with PYTHON=/path/to/python3."
    exit 1
  fi
}

require_venv() {
  "$python" -c 'import ensurepip, venv' 2>/dev/null && return
  local package
  package=$("$python" -c 'import sys; print("python%d.%d-venv" % sys.version_info[:2])')
  if [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null; then
    say "This Python has no venv module: installing Debian's $package."
    apt-get update -qq >/dev/null
    DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends "$package" >/dev/null
  else
    say "This Python cannot make environments. Install its venv module first, on Debian and Ubuntu with:"
    say "    sudo apt-get install $package"
    exit 1
  fi
}

require_python
require_venv
[ -x "$folder/bin/python" ] || "$python" -m venv "$folder"

locks=()
for part in build "${@:-runtime}"; do
  locks+=(--requirement "requirements/$part.txt")
done
pip=("$folder/bin/python" -m pip --disable-pip-version-check -qq)
# Where Python may, it compiles a module as it is first used: most of what the tools bring never is.
compile=()
[ -n "${PYTHONDONTWRITEBYTECODE:-}" ] || compile=(--no-compile)
"${pip[@]}" install --require-hashes --no-deps "${compile[@]}" "${locks[@]}"
"${pip[@]}" install --no-deps --no-build-isolation --editable .
