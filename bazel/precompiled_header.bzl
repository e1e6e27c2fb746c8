"""Headers that GCC reads already parsed."""

def _precompiled_header_impl(ctx):
    precompiled = ctx.actions.declare_file(ctx.label.name + ".h.gch")
    ctx.actions.symlink(
        output = precompiled,
        target_file = ctx.attr.compiled[OutputGroupInfo].compilation_outputs.to_list()[0],
    )

    # What GCC falls back to.
    header = ctx.actions.declare_file(ctx.label.name + ".h")
    ctx.actions.symlink(output = header, target_file = ctx.file.src)

    # GCC's -fpch-deps names the source among what a user depends on, and never the .gch.
    headers = depset([header, precompiled, ctx.file.src])
    return [
        DefaultInfo(files = depset([precompiled])),
        CcInfo(compilation_context = cc_common.create_compilation_context(headers = headers)),
    ]

_precompiled_header = rule(
    implementation = _precompiled_header_impl,
    attrs = {
        "src": attr.label(allow_single_file = [".cc"]),
        "compiled": attr.label(providers = [CcInfo]),
    },
)

def precompiled_header(name, src):
    """`name`.h, precompiled, for code compiled with `-include PACKAGE/NAME.h -fpch-deps`.

    GCC takes it only where all options are the same. So it is compiled as a source file, which gets those of
    .bazelrc's per_file_copt as well; and what is precompiled has options of its own no more than its users.

    Args:
      name: the target to depend on.
      src: the header's content, a .cc that includes no files of this repository.
    """
    native.cc_library(
        name = name + "_compiled",
        srcs = [src],
        copts = ["-xc++-header"],
        # It is no object file, and makes no library.
        tags = ["manual"],
        visibility = ["//visibility:private"],
    )
    _precompiled_header(
        name = name,
        src = src,
        compiled = name + "_compiled",
    )
