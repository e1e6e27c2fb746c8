"""Plugins for tests, all from one source."""

def test_plugin(name, defines = []):
    """A plugin of a few devices that do no work.

    Args:
      name: its file, below this folder.
      defines: in what it differs (test_plugin.cc).
    """
    native.cc_binary(
        name = name,
        testonly = True,
        srcs = ["test_plugin.cc"],
        linkopts = ["-Wl,--version-script=$(location //backends/plugin:exports.lds)"],
        linkshared = True,
        local_defines = defines,
        deps = [
            "//backends/null",
            "//backends/plugin",
            "//backends/plugin:exports.lds",
        ],
    )
