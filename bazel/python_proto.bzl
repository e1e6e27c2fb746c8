"""Python modules from .proto files, by Debian's protoc and gRPC plugin."""

def acceld_python_proto(name, srcs, services = [], visibility = None):
    """A filegroup with x_pb2.py for each x.proto of `srcs`, and x_pb2_grpc.py for those with services.

    The modules import each other by the paths that the .proto files import each other by, which start at
    this package: its folder is the module folder of a test that uses them (tests/tools/python_test.bzl).

    Args:
      name: the filegroup.
      srcs: .proto files of this package. They may import each other and google/protobuf/*.proto.
      services: those of `srcs` that define gRPC services.
      visibility: as for any rule.
    """
    root = native.package_name()
    output = "$(GENDIR)/" + root
    outs = [src.replace(".proto", "_pb2.py") for src in srcs]
    grpc_outs = [src.replace(".proto", "_pb2_grpc.py") for src in services]
    native.genrule(
        name = name + "_generated",
        srcs = srcs,
        outs = outs + grpc_outs,
        cmd = " && ".join([
            "protoc --proto_path=%s --python_out=%s $(SRCS)" % (root, output),
            "protoc --proto_path=%s --plugin=protoc-gen-grpc=$$(command -v grpc_python_plugin) --grpc_out=%s %s" %
            (root, output, " ".join(["$(location %s)" % src for src in services])),
        ]),
        testonly = True,
        visibility = ["//visibility:private"],
    )
    native.filegroup(
        name = name,
        testonly = True,
        srcs = outs + grpc_outs,
        visibility = visibility,
    )
