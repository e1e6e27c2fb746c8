"""bazel/cuda_configure.bzl: which CUDA toolkit is found, and what is said where there is none.

The file is Starlark that Python runs as well, with stand-ins for Bazel.
"""

import contextlib
import io
import os
import tempfile
import types
import unittest

import unittest_main

RULE = "bazel/cuda_configure.bzl"


def configure(**environment):
    """Runs the rule; the files that it makes, by name, and what it prints."""
    files = {}
    context = types.SimpleNamespace(
        os=types.SimpleNamespace(environ=environment),
        path=lambda path: types.SimpleNamespace(exists=os.path.exists(path)),
        symlink=lambda target, name: files.update({name: target}),
        file=lambda name, content: files.update({name: content}),
        read=read,
    )
    printed = io.StringIO()
    names = {"repository_rule": lambda **_: None}
    exec(compile(read(RULE), RULE, "exec"), names)  # pylint: disable=exec-used
    with contextlib.redirect_stdout(printed):
        names["_cuda_configure_impl"](context)
    return files, printed.getvalue()


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


class CudaConfigureTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def add(self, name, text=""):
        path = os.path.join(self.folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)

    def test_a_path_to_nowhere_is_named_with_what_is_not_there(self):
        for path in ("/nowhere/cuda", "not/absolute"):
            files, printed = configure(ACCELD_CUDA_PATH=path)
            self.assertEqual(
                printed,
                f'The cuda plugin is not built: ACCELD_CUDA_PATH is "{path}", where there is no bin/nvcc.\n',
            )
            self.assertIn("CUDA_FOUND = False\n", files["defs.bzl"])
            self.assertNotIn("include", files)

    def test_a_toolkit_without_cudnn_is_none(self):
        for name in ("bin/nvcc", "include/cublas_v2.h", "include/cuda_runtime_api.h"):
            self.add(name)
        files, printed = configure(ACCELD_CUDA_PATH=self.folder)
        self.assertIn("where there is no include/cudnn.h.", printed)
        self.assertIn("CUDA_FOUND = False\n", files["defs.bzl"])

    def test_cub_is_found_where_a_toolkit_may_have_it(self):
        for name in ("bin/nvcc", "include/cublas_v2.h", "include/cuda_runtime_api.h", "include/cudnn.h"):
            self.add(name)
        self.add("lib64/libcudart_static.a")
        files, printed = configure(ACCELD_CUDA_PATH=self.folder)
        self.assertIn("where there is no include/cccl/cub/cub.cuh.", printed)
        self.assertIn("CUDA_FOUND = False\n", files["defs.bzl"])
        self.add("include/cub/cub.cuh")
        files, printed = configure(ACCELD_CUDA_PATH=self.folder)
        self.assertEqual(printed, "")
        self.assertIn("CUDA_FOUND = True\n", files["defs.bzl"])

    def test_none_is_none_and_nothing_is_said(self):
        files, printed = configure(ACCELD_CUDA_PATH="none")
        self.assertEqual(printed, "")
        self.assertIn("CUDA_FOUND = False\n", files["defs.bzl"])

    def test_a_whole_toolkit_is_found_with_its_version(self):
        for name in ("bin/nvcc", "include/cublas_v2.h", "include/cudnn.h", "lib64/libcudart_static.a"):
            self.add(name)
        self.add("include/cccl/cub/cub.cuh")
        self.add("include/cuda_runtime_api.h", "#define CUDART_VERSION  13020\n")
        files, printed = configure(ACCELD_CUDA_PATH=self.folder)
        self.assertEqual(printed, "")
        self.assertEqual(files["include"], f"{self.folder}/include")
        self.assertIn("CUDA_FOUND = True\nCUDA_VERSION = '13020'\n", files["defs.bzl"])


if __name__ == "__main__":
    unittest_main.main()
