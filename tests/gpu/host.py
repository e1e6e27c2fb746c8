"""What this machine has: the card, CUDA's libraries, compute-sanitizer, and the C library."""

import ctypes
import glob
import os
import re
import shutil
import site
import subprocess
import sys
from typing import NamedTuple, Optional

TIMEOUT_S = 30

# Where a toolkit may be, besides where variables say.
TOOLKITS = ["/usr/local/cuda", "/usr/local/cuda-*", "/opt/cuda"]
SYSTEM_BINARIES = ["/sbin", "/usr/sbin"]


class Card(NamedTuple):
    name: str
    driver: str
    # Of CUDA, as far as the driver has it.
    cuda: str
    memory_mib: str
    compute_capability: str


class Found(NamedTuple):
    card: Optional[Card]
    # For LD_LIBRARY_PATH.
    library_folders: list
    sanitizer: Optional[str]
    # A sentence for each thing that is missing.
    problems: list


def output_of(*command):
    """What a command prints; empty where it is not there or fails."""
    try:
        result = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=TIMEOUT_S,
            check=False,
            universal_newlines=True,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return result.stdout if result.returncode == 0 else ""


def choose_card():
    """Has CUDA show one card to this program and all that it starts: the first that nvidia-smi lists, or what the
    variable says."""
    os.environ.setdefault("CUDA_DEVICE_ORDER", "PCI_BUS_ID")
    os.environ.setdefault("CUDA_VISIBLE_DEVICES", "0")


def card_by_nvidia_smi():
    fields = ["name", "driver_version", "memory.total", "compute_cap"]
    lines = output_of("nvidia-smi", f"--query-gpu={','.join(fields)}", "--format=csv,noheader,nounits")
    values = [value.strip() for value in lines.split("\n")[0].split(",")]
    if len(values) != len(fields):
        return None
    # "CUDA Version", or "CUDA UMD Version" of newer drivers.
    version = re.search(r"CUDA (?:\w+ )?Version\s*: (\d+\.\d+)", output_of("nvidia-smi"))
    return Card(
        name=values[0],
        driver=values[1],
        cuda=version.group(1) if version else "unknown",
        memory_mib=values[2],
        compute_capability=values[3],
    )


def card_by_driver():
    """By the driver's library itself: the card that everything runs on."""
    try:
        cuda = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return None
    device, version = ctypes.c_int(), ctypes.c_int()
    major, minor, memory = ctypes.c_int(), ctypes.c_int(), ctypes.c_size_t()
    name = ctypes.create_string_buffer(256)
    if cuda.cuInit(0) != 0 or cuda.cuDeviceGet(ctypes.byref(device), 0) != 0:
        return None
    cuda.cuDriverGetVersion(ctypes.byref(version))
    cuda.cuDeviceGetName(name, len(name), device)
    # CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR and _MINOR.
    cuda.cuDeviceGetAttribute(ctypes.byref(major), 75, device)
    cuda.cuDeviceGetAttribute(ctypes.byref(minor), 76, device)
    cuda.cuDeviceTotalMem_v2(ctypes.byref(memory), device)
    driver = "unknown"
    try:
        with open("/proc/driver/nvidia/version", encoding="utf-8") as file:
            driver = re.search(r"\d+\.\d+(\.\d+)?", file.read()).group()
    except (OSError, AttributeError):
        pass
    return Card(
        name=name.value.decode(errors="replace"),
        driver=driver,
        cuda=f"{version.value // 1000}.{version.value % 1000 // 10}",
        memory_mib=str(memory.value >> 20),
        compute_capability=f"{major.value}.{minor.value}",
    )


def toolkits():
    folders = [os.environ[name] for name in ("CUDA_PATH", "CUDA_HOME") if os.environ.get(name)]
    for pattern in TOOLKITS:
        folders += sorted(glob.glob(pattern), reverse=True)
    return folders


def packages_of_pip():
    """The folders of NVIDIA's packages for Python, each of which may have a lib and a bin."""
    roots = list(sys.path) + site.getsitepackages() + [site.getusersitepackages()]
    for python in filter(None, [shutil.which("python3"), shutil.which("python")]):
        roots += glob.glob(os.path.join(os.path.dirname(python), "..", "lib", "python3*", "site-packages"))
    for variable in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        if os.environ.get(variable):
            roots += glob.glob(os.path.join(os.environ[variable], "lib", "python3*", "site-packages"))
    folders = []
    for root in roots:
        for folder in sorted(glob.glob(os.path.join(root, "nvidia", "*"))):
            if folder not in folders:
                folders.append(folder)
    return folders


def find_library(name):
    """The folder to add for `name` to be found, "" where the system finds it, None where it is not there; and
    where it was looked for."""
    looked = []
    folders = [folder for folder in os.environ.get("LD_LIBRARY_PATH", "").split(":") if folder]
    looked.append(f"LD_LIBRARY_PATH ({':'.join(folders) or 'not set'})")
    for folder in folders:
        if os.path.exists(os.path.join(folder, name)):
            return folder, looked
    looked.append("ldconfig")
    ldconfig = shutil.which("ldconfig", path=os.pathsep.join([os.environ.get("PATH", "")] + SYSTEM_BINARIES))
    if ldconfig and re.search(rf"^\s*{re.escape(name)} ", output_of(ldconfig, "-p"), re.MULTILINE):
        return "", looked
    looked.append("CUDA_PATH, CUDA_HOME, /usr/local/cuda*")
    for root in toolkits():
        for folder in [os.path.join(root, "lib64"), os.path.join(root, "lib")]:
            looked.append(folder)
            if os.path.exists(os.path.join(folder, name)):
                return folder, looked
    for root in packages_of_pip():
        folder = os.path.join(root, "lib")
        looked.append(folder)
        if os.path.exists(os.path.join(folder, name)):
            return folder, looked
    looked.append("the packages nvidia-* of pip")
    return None, looked


def find_sanitizer():
    looked = ["PATH", "CUDA_PATH", "CUDA_HOME", "/usr/local/cuda*"]
    path = shutil.which("compute-sanitizer")
    if path:
        return path, looked
    for root in toolkits() + packages_of_pip():
        for folder in ["bin", "compute-sanitizer"]:
            path = os.path.join(root, folder, "compute-sanitizer")
            if os.access(path, os.X_OK) and os.path.isfile(path):
                return path, looked
        looked.append(root)
    return None, looked


def look_around(manifest):
    problems = []
    # nvidia-smi lists cards that CUDA does not show.
    card = card_by_driver() or card_by_nvidia_smi()
    if card is None:
        problems.append(
            "A card: neither the driver's library, libcuda.so.1, nor nvidia-smi shows one. NVIDIA's driver for "
            "CUDA 13 is 580 or later."
        )
    folders = []
    for name, what in [(manifest["cublas"], "cuBLAS"), (manifest["cudnn"], "cuDNN")]:
        folder, looked = find_library(name)
        if folder is None:
            problems.append(
                f"{what}: {name} is in none of: {', '.join(looked)}. Install it, or name its folder in "
                "LD_LIBRARY_PATH; the cases and figures that need it fail."
            )
        elif folder and folder not in folders:
            folders.append(folder)
    sanitizer, looked = find_sanitizer()
    if sanitizer is None:
        problems.append(f"compute-sanitizer, whose steps are skipped: it is in none of: {', '.join(looked)}.")
    return Found(card=card, library_folders=folders, sanitizer=sanitizer, problems=problems)


def choose_environment(root, library_folders):
    """The environment in which the packed programs start, and what is wrong where they do not.

    The pack has GCC's runtime libraries in a folder of their own: on a system whose C library is older than
    these need, the system's are taken.
    """
    problem = ""
    for packed in (["lib", "lib/gcc"], ["lib"]):
        folders = [os.path.join(root, folder) for folder in packed] + library_folders
        if os.environ.get("LD_LIBRARY_PATH"):
            folders.append(os.environ["LD_LIBRARY_PATH"])
        environment = {**os.environ, "LD_LIBRARY_PATH": ":".join(folders)}
        try:
            result = subprocess.run(
                [os.path.join(root, "client", "accelctl"), "--help"],
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                timeout=TIMEOUT_S,
                check=False,
                universal_newlines=True,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            problem = problem or f"{error}."
            continue
        if result.returncode == 0:
            return environment, ""
        problem = problem or result.stderr.strip() or f"accelctl ended with status {result.returncode}."
    return None, problem
