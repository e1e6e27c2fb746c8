"""Collects the files of the pack: programs, the libraries they need, scripts and licenses.

    pack_files.py --targets                     the Bazel targets that are needed, one a line
    pack_files.py --built BAZEL_BIN --commit COMMIT --cuda TOOLKIT --output FILE [--level N]
    pack_files.py --built BAZEL_BIN --commit COMMIT --cuda TOOLKIT --folder FOLDER

The last writes the files to a folder instead.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile

MAX_BYTES = 40 << 20
# The archive's one folder.
NAME = "acceld_gpu"

PROGRAMS = [
    "server/acceld",
    "client/accelctl",
    "backends/cuda/libacceld_cuda.so",
    "tests/conformance/cuda_in_process",
    "tests/conformance/cuda_shm",
    "tests/conformance/cuda_frames_tcp",
    "tests/bench/cuda/bench",
]
FILES = [
    "LICENSE",
    "tests/gpu/run",
    "tests/gpu/main.py",
    "tests/gpu/host.py",
    "tests/gpu/report.py",
    "tests/gpu/steps.py",
]

# The C library is the host's: a program cannot bring its own without its loader. So is the driver.
OF_THE_HOST = re.compile(
    r"(linux-vdso|ld-linux-x86-64|libc|libm|libmvec|libdl|libpthread|librt|libresolv|libutil|libcuda)\.so(\.\d+)*"
)
# In a folder of their own, since these need a newer C library than all else; see host.choose_environment.
GCC_RUNTIME = ("libstdc++.so.6", "libgcc_s.so.1")

_CHECKOUT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


class Unpackable(Exception):
    """Why there is no pack, a sentence."""


def output_of(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, check=True, universal_newlines=True).stdout


def libraries_of(path):
    """The libraries, as a map from the name by which each is found to its path, that a file needs and the host
    does not have."""
    libraries = {}
    for line in output_of("ldd", path).split("\n"):
        words = line.split()
        if not words or OF_THE_HOST.fullmatch(os.path.basename(words[0])):
            continue
        if "=>" not in words or words[2] == "not":
            raise Unpackable(f"The library {words[0]} of {path} is not found.")
        libraries[words[0]] = words[2]
    return libraries


def glibc_of(path):
    """The oldest glibc that the file can run with, such as (2, 34)."""
    versions = re.findall(r"Name: GLIBC_(\d+)\.(\d+)", output_of("readelf", "--version-info", "--wide", path))
    return max(((int(major), int(minor)) for major, minor in versions), default=(2, 0))


def packages_of(libraries):
    """The Debian packages that libraries' files belong to, by path, where that is known."""
    names = {}
    for library in libraries:
        path = os.path.realpath(library)
        # Packages name some files as before /lib became a link.
        for name in (path, path.removeprefix("/usr"), "/usr" + path):
            names[name] = library
    found = subprocess.run(
        ["dpkg-query", "--search", *names],
        stdout=subprocess.PIPE,
        # It says what it does not find.
        stderr=subprocess.DEVNULL,
        check=False,
        universal_newlines=True,
    ).stdout
    packages = {}
    for line in found.split("\n"):
        package, _, name = line.rpartition(": ")
        if name in names:
            packages[names[name]] = package.split(":")[0]
    return packages


def defined_in(header, name):
    """The number that a header of CUDA defines as `name`."""
    with open(header, encoding="utf-8", errors="replace") as file:
        found = re.search(rf"^\s*#define\s+{name}\s+(\d+)", file.read(), re.MULTILINE)
    if not found:
        raise Unpackable(f"The header {header} does not define {name}.")
    return int(found.group(1))


def manifest_for(commit, toolkit, glibc):
    include = os.path.join(toolkit, "include")
    version = defined_in(os.path.join(include, "cuda_runtime_api.h"), "CUDART_VERSION")
    cublas = defined_in(os.path.join(include, "cublas_api.h"), "CUBLAS_VER_MAJOR")
    cudnn = defined_in(os.path.join(include, "cudnn_version.h"), "CUDNN_MAJOR")
    return {
        "commit": commit,
        "cuda": f"{version // 1000}.{version % 1000 // 10}",
        "cublas": f"libcublas.so.{cublas}",
        "cudnn": f"libcudnn.so.{cudnn}",
        "glibc": ".".join(map(str, glibc)),
    }


def copy(source, target, strip=False):
    os.makedirs(os.path.dirname(target), exist_ok=True)
    shutil.copyfile(source, target)
    executable = os.access(source, os.X_OK)
    if strip:
        os.chmod(target, 0o755)
        subprocess.run(["strip", "--strip-unneeded", target], check=True)
    os.chmod(target, 0o755 if executable else 0o644)


def collect(folder, built, commit, toolkit):
    """Fills a folder with all that the pack has; returns its manifest."""
    libraries = {}
    for program in PROGRAMS:
        path = os.path.join(built, program)
        if not os.path.exists(path):
            raise Unpackable(f"The program {path} is not built.")
        libraries.update(libraries_of(path))
        copy(path, os.path.join(folder, program), strip=True)
    for name in FILES:
        copy(os.path.join(_CHECKOUT, name), os.path.join(folder, name))

    packages = packages_of(libraries.values())
    for name, path in libraries.items():
        copy(os.path.realpath(path), os.path.join(folder, "lib", "gcc" if name in GCC_RUNTIME else "", name))
        license_path = f"/usr/share/doc/{packages.get(path)}/copyright"
        if not os.path.exists(license_path):
            raise Unpackable(f"The license of {path} is not found, of the package {packages.get(path)}.")
        copy(license_path, os.path.join(folder, "licenses", f"{packages[path]}.txt"))

    packed = [os.path.join(folder, program) for program in PROGRAMS]
    packed += [os.path.join(folder, "lib", name) for name in libraries if name not in GCC_RUNTIME]
    manifest = manifest_for(commit, toolkit, max(map(glibc_of, packed)))
    with open(os.path.join(folder, "manifest.json"), "w", encoding="utf-8") as file:
        json.dump(manifest, file, indent=2)
        file.write("\n")
    return manifest


def archive(folder, output, level):
    """Writes the folder's files as one archive, which appears when it is whole; returns its size."""

    def anonymous(entry):
        entry.uid = entry.gid = entry.mtime = 0
        entry.uname = entry.gname = "root"
        if entry.isdir():
            entry.mode = 0o755
        return entry

    new = output + ".new"
    try:
        with tarfile.open(new, "w:xz", preset=level) as tar:
            tar.add(folder, NAME, filter=anonymous)
        size = os.path.getsize(new)
        check_size(size)
        os.replace(new, output)
    finally:
        if os.path.exists(new):
            os.remove(new)
    return size


def check_size(size):
    if size > MAX_BYTES:
        raise Unpackable(f"The archive has {size} bytes, and {MAX_BYTES} at most are allowed; see --level.")


def parse(arguments):
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--targets", action="store_true")
    parser.add_argument("--built")
    parser.add_argument("--commit")
    parser.add_argument("--cuda")
    parser.add_argument("--output")
    parser.add_argument("--folder")
    parser.add_argument("--level", type=int, default=6)
    return parser.parse_args(arguments)


def say(text):
    print(f"tests/gpu/pack: {text}", flush=True)


def main(arguments):
    options = parse(arguments)
    if options.targets:
        for program in PROGRAMS:
            folder, name = os.path.split(program)
            print(f"//{folder}:{name}")
        return 0
    try:
        if options.folder:
            collect(options.folder, options.built, options.commit, options.cuda)
            return 0
        with tempfile.TemporaryDirectory(prefix="acceld_gpu.") as folder:
            say("Collecting the files.")
            manifest = collect(folder, options.built, options.commit, options.cuda)
            say(f"They need glibc {manifest['glibc']} or later. Compressing them.")
            size = archive(folder, options.output, options.level)
    except (Unpackable, OSError, subprocess.CalledProcessError) as error:
        print(f"tests/gpu/pack: {error}", file=sys.stderr)
        return 1
    say(f"{options.output}, {size / 2**20:.1f} MiB")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
