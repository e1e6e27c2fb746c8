"""One binary per way to reach a device, all running the same suite."""

def conformance_test(name, way, deps, **kwargs):
    """Runs the conformance suite over one way to reach a device.

    Args:
      name: the name of the test.
      way: the source file that implements tests/conformance/way.h.
      deps: what that file needs.
      **kwargs: passed on to cc_test.
    """
    native.cc_test(
        name = name,
        srcs = [way],
        deps = [
            ":suite",
            "//bazel/deps:gtest_main",
        ] + deps,
        **kwargs
    )

def conformance_program(name, way, deps, data = []):
    """The suite over a way that needs a card: built everywhere, and run by tests/gpu/run where there is one.

    Args:
      name: the name of the program.
      way: as for conformance_test.
      deps: as for conformance_test.
      data: what it looks for when it runs.
    """
    native.cc_binary(
        name = name,
        testonly = True,
        srcs = [way],
        data = data,
        deps = [
            ":suite",
            "//bazel/deps:gtest_main",
        ] + deps,
    )
