"""CUDA sources, where a toolkit is installed (cuda_configure.bzl)."""

load("@bazel_tools//tools/cpp:toolchain_utils.bzl", "find_cpp_toolchain")
load("@local_cuda//:defs.bzl", "CUDA_FOUND", "CUDA_VERSION", "NVCC")

# Machine code for the cards of data centers, and of the newest of these the virtual code from which a
# driver makes machine code for later cards.
_ARCHITECTURES = [
    "-gencode=arch=compute_80,code=sm_80",
    "-gencode=arch=compute_90,code=sm_90",
    "-gencode=arch=compute_90,code=compute_90",
]

def requires_cuda():
    """For target_compatible_with: the target is skipped where no CUDA toolkit is installed."""
    return [] if CUDA_FOUND else ["//bazel:cuda_toolkit_required"]

def if_cuda(yes, no = []):
    """`yes` where a CUDA toolkit is installed, else `no`."""
    return yes if CUDA_FOUND else no

def _compile(ctx, toolchain, compilation_context, source):
    object_file = ctx.actions.declare_file("_cuda/%s/%s.o" % (ctx.label.name, source.basename))
    args = ctx.actions.args()
    args.add_all(["-std=c++20", "-c", "-x", "cu", "-O3", "-lineinfo", "--threads=0"])
    args.add_all(_ARCHITECTURES)
    args.add_all(["-Werror", "all-warnings", "-ccbin", toolchain.compiler_executable])
    args.add_all(["--forward-unknown-to-host-compiler", "-fPIC", "-fvisibility=hidden"])
    # The toolkit's own files are no inputs, only its version is.
    args.add("-DACCELD_CUDA_VERSION=" + CUDA_VERSION)
    args.add_all([".", ctx.bin_dir.path], before_each = "-I")
    args.add_all(compilation_context.system_includes, before_each = "-isystem")
    args.add_all(compilation_context.defines, format_each = "-D%s")
    args.add_all(ctx.attr.copts)
    args.add("-o", object_file)
    args.add(source)
    ctx.actions.run(
        executable = NVCC,
        arguments = [args],
        inputs = depset([source] + ctx.files.hdrs, transitive = [compilation_context.headers]),
        outputs = [object_file],
        env = {"PATH": "/usr/bin:/bin"},
        mnemonic = "CudaCompile",
        progress_message = "Compiling %s with nvcc" % source.short_path,
    )
    return object_file

def _cuda_library_impl(ctx):
    toolchain = find_cpp_toolchain(ctx)
    features = cc_common.configure_features(
        ctx = ctx,
        cc_toolchain = toolchain,
        requested_features = ctx.features,
        unsupported_features = ctx.disabled_features,
    )
    deps = cc_common.merge_cc_infos(cc_infos = [dep[CcInfo] for dep in ctx.attr.deps])
    objects = depset([
        _compile(ctx, toolchain, deps.compilation_context, source)
        for source in ctx.files.srcs
    ])
    linking_context, _ = cc_common.create_linking_context_from_compilation_outputs(
        actions = ctx.actions,
        name = ctx.label.name,
        feature_configuration = features,
        cc_toolchain = toolchain,
        compilation_outputs = cc_common.create_compilation_outputs(objects = objects, pic_objects = objects),
        disallow_dynamic_library = True,
    )
    own = CcInfo(
        compilation_context = cc_common.create_compilation_context(headers = depset(ctx.files.hdrs)),
        linking_context = linking_context,
    )
    return [
        DefaultInfo(files = objects),
        cc_common.merge_cc_infos(cc_infos = [own, deps]),
    ]

_cuda_library = rule(
    implementation = _cuda_library_impl,
    attrs = {
        "srcs": attr.label_list(allow_files = [".cu"]),
        "hdrs": attr.label_list(allow_files = [".h"]),
        "deps": attr.label_list(providers = [CcInfo]),
        "copts": attr.string_list(),
        "_cc_toolchain": attr.label(default = "@bazel_tools//tools/cpp:current_cc_toolchain"),
    },
    fragments = ["cpp"],
    toolchains = ["@bazel_tools//tools/cpp:toolchain_type"],
)

def cuda_library(name, deps = [], **kwargs):
    """As cc_library, for .cu files, which nvcc compiles.

    Args:
      name: the library's name.
      deps: what it needs; CUDA's headers and its runtime need not be named.
      **kwargs: srcs, hdrs and copts.
    """
    _cuda_library(
        name = name,
        deps = deps + ["@local_cuda//:runtime"],
        target_compatible_with = requires_cuda(),
        **kwargs
    )
