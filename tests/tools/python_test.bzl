"""A test written in Python."""

def python_test(name, src, module_folders = [], data = [], args = [], **kwargs):
    """A Python test that reports each of its unittest cases (tests/tools/unittest_main.py).

    Used in place of py_test, whose launcher in Debian's Bazel looks for a program named "python", which
    Debian 12 does not have.

    Args:
      name: the test's name.
      src: the Python file to run.
      module_folders: the folders, from the root of the repository, of the modules it imports, besides its
        own and tests/tools.
      data: the files it needs: modules it imports, programs it runs.
      args: its arguments.
      **kwargs: as for sh_test.
    """
    folders = [native.package_name()] + module_folders
    native.sh_test(
        name = name,
        srcs = ["//tests/tools:python_test.sh"],
        args = [":".join(folders), "$(location %s)" % src] + args,
        data = [
            src,
            "//tests/tools:unittest_main.py",
        ] + data,
        **kwargs
    )
