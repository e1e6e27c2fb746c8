"""An unpacked pack, and a host with a card, of stand-ins: the plugin's card is not there, and what the host has
are scripts."""

import json
import os
import shutil
import subprocess

MANIFEST = {"commit": "abc", "cuda": "13.0", "cublas": "libcublas.so.13", "cudnn": "libcudnn.so.9", "glibc": "2.34"}

SMI = """#!/bin/bash
if [[ $* == *query-gpu* ]]; then
  echo "A card, 580.65.06, 143771, 9.0"
else
  echo "| NVIDIA-SMI 580.65.06   Driver Version: 580.65.06   CUDA Version: 13.0 |"
fi
"""

# Runs the program behind its options, and finds what the variable says.
SANITIZER = """#!/bin/bash
while [[ $1 == --* ]]; do shift; done
"$@" || exit
echo "========= ERROR SUMMARY: ${FOUND:-0} errors"
[[ -z ${FOUND:-} ]] || exit 86
"""


def write_script(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    os.chmod(path, 0o755)


def make_pack(folder, scripts, programs):
    """Fills `folder` as pack_files.collect does: copies of the scripts, and links for programs, a map from the
    path in the pack to the file."""
    for script in scripts:
        os.makedirs(os.path.join(folder, "tests", "gpu"), exist_ok=True)
        shutil.copy(script, os.path.join(folder, "tests", "gpu"))
    for path, program in programs.items():
        target = os.path.join(folder, path)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        os.symlink(os.path.realpath(program), target)
    with open(os.path.join(folder, "manifest.json"), "w", encoding="utf-8") as file:
        json.dump(MANIFEST, file)


def make_host(folder, card=True, libraries=True, sanitizer=True):
    """Fills `folder` with what a host has; the environment for a program there."""
    binaries = os.path.join(folder, "bin")
    os.makedirs(binaries)
    if card:
        write_script(os.path.join(binaries, "nvidia-smi"), SMI)
    if sanitizer:
        write_script(os.path.join(binaries, "compute-sanitizer"), SANITIZER)
    cuda = os.path.join(folder, "cuda")
    os.makedirs(cuda)
    if libraries:
        for name in (MANIFEST["cublas"], MANIFEST["cudnn"]):
            write_script(os.path.join(cuda, name), "")
    return {"PATH": f"{binaries}:/usr/bin:/bin", "LD_LIBRARY_PATH": cuda, "HOME": folder}


def run(pack, environment, *arguments, timeout_s=120):
    return subprocess.run(
        [os.path.join(pack, "tests", "gpu", "run"), *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=environment,
        timeout=timeout_s,
        check=False,
        universal_newlines=True,
    )
