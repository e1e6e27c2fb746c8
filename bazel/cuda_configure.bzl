"""Finds an installed CUDA toolkit, for cuda.bzl; without one, the repository it makes is empty but loads."""

# What the cuda plugin is built with, in the toolkit's folder.
_NEEDED = [
    "bin/nvcc",
    "include/cublas_v2.h",
    "include/cuda_runtime_api.h",
    "include/cudnn.h",
    "lib64/libcudart_static.a",
]

# CUB, where CUDA 13 has it and where earlier ones have.
_CUB = ["include/cccl/cub/cub.cuh", "include/cub/cub.cuh"]

_FOUND = """
package(default_visibility = ["//visibility:public"])

cc_library(
    name = "headers",
    hdrs = glob(["include/*.h", "include/crt/*"]),
    includes = ["include"],
)

# Linked statically, CUDA's runtime needs no library of CUDA when the program is loaded. It opens the
# driver's, libcuda.so.1, itself, and returns an error code where there is none.
cc_library(
    name = "runtime",
    srcs = ["lib64/libcudart_static.a"],
    linkopts = ["-ldl", "-lpthread", "-lrt"],
    deps = [":headers"],
)
"""

_MISSING = """
package(default_visibility = ["//visibility:public"])

cc_library(name = "headers")
cc_library(name = "runtime")
"""

def _cuda_configure_impl(ctx):
    root = ctx.os.environ.get("ACCELD_CUDA_PATH", "/usr/local/cuda")
    missing = _NEEDED
    if root.startswith("/"):
        missing = [file for file in _NEEDED if not ctx.path(root + "/" + file).exists]
        if not [file for file in _CUB if ctx.path(root + "/" + file).exists]:
            missing.append(_CUB[0])
    version = ""
    if root == "none":
        pass
    elif missing:
        # buildifier: disable=print
        print("The cuda plugin is not built: ACCELD_CUDA_PATH is \"%s\", where there is no %s." % (root, missing[0]))
    else:
        for folder in ["include", "lib64"]:
            ctx.symlink(root + "/" + folder, folder)
        header = ctx.read(root + "/include/cuda_runtime_api.h")
        version = header[header.find("#define CUDART_VERSION") + len("#define CUDART_VERSION"):].split("\n")[0].strip()
    found = root != "none" and not missing
    ctx.file("BUILD.bazel", _FOUND if found else _MISSING)
    ctx.file("defs.bzl", "CUDA_FOUND = %s\nCUDA_VERSION = %r\nNVCC = %r\n" % (found, version, root + "/bin/nvcc"))

cuda_configure = repository_rule(
    implementation = _cuda_configure_impl,
    doc = "ACCELD_CUDA_PATH in the environment is the toolkit's folder, /usr/local/cuda where it is not " +
          "set; \"none\" is none.",
    environ = ["ACCELD_CUDA_PATH"],
    local = True,
)
