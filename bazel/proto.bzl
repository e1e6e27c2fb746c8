"""C++ from .proto files, by Debian's protoc and gRPC plugin.

Debian's Bazel 4.2.3 has no working cc_proto_library for installed compilers, so these are genrules.
"""

# What the generated code gets wrong is not ours to mend. Where import paths start at the package, its
# headers are system headers (`includes` is -isystem), silent in the code that uses them as well.
_GENERATED_COPTS = ["-w"]

def _stem(src):
    if not src.endswith(".proto"):
        fail("%s is not a .proto file" % src)
    return src[:-len(".proto")]

def _generate(name, srcs, imports, extensions, output_flags, import_root):
    """A genrule that writes one file per source and extension. Returns those files' names."""
    if not srcs:
        return []
    outs = [_stem(src) + extension for src in srcs for extension in extensions]
    native.genrule(
        name = name,
        srcs = srcs + [label for label in imports if label not in srcs],
        outs = outs,
        cmd = "protoc --proto_path=%s %s %s" % (
            import_root or ".",
            output_flags,
            " ".join(["$(location %s)" % src for src in srcs]),
        ),
        visibility = ["//visibility:private"],
    )
    return outs

def _library(name, outs, import_root, deps, visibility):
    package = native.package_name()
    if import_root != "" and import_root != package:
        fail("import_root is either this package or the workspace's root")
    native.cc_library(
        name = name,
        srcs = [out for out in outs if out.endswith(".cc")],
        hdrs = [out for out in outs if out.endswith(".h")],
        copts = _GENERATED_COPTS,
        includes = ["."] if import_root else [],
        deps = deps,
        visibility = visibility,
    )

def acceld_proto_library(name, srcs, imports = [], deps = [], import_root = None, visibility = None):
    """A cc_library of the messages in `srcs`: a .pb.h and a .pb.cc for each.

    Args:
      name: the library.
      srcs: .proto files of this package. They may import each other and google/protobuf/*.proto.
      imports: labels of other .proto files that `srcs` import.
      deps: the libraries of those other files.
      import_root: the folder that import and #include paths start at: this package (the default)
        or, where "", the workspace's root.
      visibility: as for any rule.
    """
    root = native.package_name() if import_root == None else import_root
    output_root = "$(GENDIR)/" + root
    outs = _generate(
        name + "_generated",
        srcs,
        imports,
        [".pb.h", ".pb.cc"],
        "--cpp_out=" + output_root,
        root,
    )
    _library(name, outs, root, deps + ["//bazel/deps:protobuf"], visibility)

def acceld_grpc_library(name, srcs, imports = [], deps = [], import_root = None, visibility = None):
    """A cc_library of the gRPC services in `srcs`: a .grpc.pb.h and a .grpc.pb.cc for each.

    Args:
      name: the library.
      srcs: .proto files of this package, already in an acceld_proto_library. May be empty.
      imports: labels of the .proto files that `srcs` import.
      deps: the libraries with the messages of `srcs` and of what they import.
      import_root: as for acceld_proto_library.
      visibility: as for any rule.
    """
    root = native.package_name() if import_root == None else import_root
    output_root = "$(GENDIR)/" + root
    outs = _generate(
        name + "_generated",
        srcs,
        imports,
        [".grpc.pb.h", ".grpc.pb.cc"],
        "--plugin=protoc-gen-grpc=$$(command -v grpc_cpp_plugin) --grpc_out=" + output_root,
        root,
    )
    _library(name, outs, root, deps + ["//bazel/deps:grpc"], visibility)

def acceld_proto_descriptor(name, srcs, import_root = None, visibility = None):
    """`name`.binpb: a google.protobuf.FileDescriptorSet of `srcs` with their comments.

    Args:
      name: the target, and the file's base name.
      srcs: .proto files of this package. They may import each other and google/protobuf/*.proto.
      import_root: as for acceld_proto_library.
      visibility: as for any rule.
    """
    root = native.package_name() if import_root == None else import_root
    native.genrule(
        name = name,
        srcs = srcs,
        outs = [name + ".binpb"],
        cmd = "protoc --proto_path=%s --include_source_info --descriptor_set_out=$@ $(SRCS)" %
              (root or "."),
        visibility = visibility,
    )
