#!/bin/bash
# Runs a Python test with Debian's interpreter: python_test.sh MODULE_FOLDERS TEST [ARGUMENT...]. -P and -B:
# only the declared modules are found, and nothing is written beside the sources, to which a test's own path
# is a link.
set -euo pipefail
path="$PWD/tests/tools"
IFS=:
for folder in $1; do path+=":$PWD/$folder"; done
export PYTHONPATH="$path"
shift
exec /usr/bin/python3 -P -B "$@"
