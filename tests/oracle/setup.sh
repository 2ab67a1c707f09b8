#!/bin/sh
# Make the two environments that the tests marked `oracle` ask: t30 with Triton 3.0.0, t39 with 3.9.0.
#
#   tests/oracle/setup.sh [FOLDER]          FOLDER is .venv-oracle when left out; needs 1.6 GB
#   PASSLENS_ORACLE=FOLDER pytest -m oracle
#
# PYTHON names the interpreter: 3.0.0 has wheels for CPython 3.8 to 3.12 only.
set -eu

folder=${1:-.venv-oracle}
python=${PYTHON:-}
if [ -z "$python" ]; then
  for python in python3.11 python3.12 python3; do
    if command -v "$python" >/dev/null; then break; fi
  done
fi

make_environment() {
  if [ -x "$folder/$1/bin/python" ] &&
    "$folder/$1/bin/python" -c "import triton, sys; sys.exit(triton.__version__ != '$2')" 2>/dev/null; then
    echo "$folder/$1 has Triton $2 already"
    return
  fi
  "$python" -m venv "$folder/$1"
  # numpy is a dependency that 3.0.0 does not declare, and setuptools one from Python 3.12 on.
  "$folder/$1/bin/python" -m pip install --quiet --disable-pip-version-check "triton==$2" numpy setuptools
  echo "$folder/$1 has Triton $2 now"
}

make_environment t30 3.0.0
make_environment t39 3.9.0
