"""One test binary per way to reach a device, all running the same suite."""

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
