"""tests/gpu/pack_files.py: the pack has what its programs need, and runs on a host that has nothing.

The programs are those that Bazel has built, below the folder that the test runs in.
"""

import json
import os
import subprocess
import tarfile
import tempfile
import unittest
from unittest import mock

import pack_files
import unittest_main

TIMEOUT_S = 60


def make_toolkit(folder):
    """The headers of a CUDA toolkit, as far as they are read."""
    include = os.path.join(folder, "include")
    os.makedirs(include)
    for name, text in {
        "cuda_runtime_api.h": "#define CUDART_VERSION  13020\n",
        "cublas_api.h": "#define CUBLAS_VER_MAJOR 13\n",
        "cudnn_version.h": "#define CUDNN_MAJOR 9\n#define CUDNN_MINOR 5\n",
    }.items():
        with open(os.path.join(include, name), "w", encoding="utf-8") as file:
            file.write(text)
    return folder


class PackTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls._folder = tempfile.TemporaryDirectory(prefix="acceld.", dir="/tmp")
        cls.addClassCleanup(cls._folder.cleanup)
        cls.pack = os.path.join(cls._folder.name, "pack")
        toolkit = make_toolkit(os.path.join(cls._folder.name, "toolkit"))
        cls.manifest = pack_files.collect(cls.pack, os.getcwd(), "abc", toolkit)
        cls.environment = {"PATH": "/usr/bin:/bin", "LD_LIBRARY_PATH": f"{cls.pack}/lib:{cls.pack}/lib/gcc"}

    def output_of(self, program, *arguments, **variables):
        result = subprocess.run(
            [os.path.join(self.pack, program), *arguments],
            env={**self.environment, **variables},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=TIMEOUT_S,
            check=False,
            universal_newlines=True,
        )
        self.assertEqual(result.returncode, 0, result.stdout)
        return result.stdout

    def test_says_what_it_needs(self):
        with open(os.path.join(self.pack, "manifest.json"), encoding="utf-8") as file:
            manifest = json.load(file)
        self.assertEqual(manifest, self.manifest)
        glibc = manifest.pop("glibc")
        self.assertRegex(glibc, r"^2\.\d+$")
        self.assertEqual(
            manifest, {"commit": "abc", "cuda": "13.2", "cublas": "libcublas.so.13", "cudnn": "libcudnn.so.9"}
        )

    def test_takes_only_the_c_library_of_the_host(self):
        for program in pack_files.PROGRAMS:
            loader = subprocess.run(
                ["ldd", os.path.join(self.pack, program)],
                env=self.environment,
                stdout=subprocess.PIPE,
                check=True,
                universal_newlines=True,
            ).stdout
            for line in filter(None, loader.split("\n")):
                name = os.path.basename(line.split()[0])
                with self.subTest(program=program, library=name):
                    self.assertTrue(f"=> {self.pack}/lib/" in line or pack_files.OF_THE_HOST.fullmatch(name), line)

    def test_its_programs_start(self):
        for program in ("server/acceld", "client/accelctl", "tests/bench/cuda/bench"):
            with self.subTest(program=program):
                self.assertIn("--", self.output_of(program, "--help"))
        for way in ("in_process", "shm", "frames_tcp"):
            with self.subTest(way=way):
                cases = self.output_of(f"tests/conformance/cuda_{way}", "--gtest_list_tests")
                self.assertIn("SoftmaxTest.\n", cases)

    def test_has_a_license_for_each_package(self):
        licenses = os.listdir(os.path.join(self.pack, "licenses"))
        for package in ("libstdc++6", "libgrpc++1.51", "libopenblas0-openmp", "libdnnl2", "libabsl20220623"):
            self.assertIn(f"{package}.txt", licenses)
        self.assertTrue(os.path.exists(os.path.join(self.pack, "LICENSE")))

    def test_runs_where_there_is_no_card_and_says_so(self):
        if os.path.exists("/dev/nvidiactl"):
            self.skipTest("this machine may have a card")
        result = subprocess.run(
            [os.path.join(self.pack, "tests", "gpu", "run")],
            env={"PATH": "/usr/bin:/bin"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=TIMEOUT_S,
            check=False,
            universal_newlines=True,
        )
        self.assertEqual(result.returncode, 1)
        self.assertIn("MISSING: A card: ", result.stdout)
        self.assertTrue(result.stdout.endswith("There is no card to run on.\n"), result.stdout)


class ArchiveTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def test_a_program_that_is_not_built_is_named(self):
        with self.assertRaisesRegex(pack_files.Unpackable, "The program /nowhere/server/acceld is not built."):
            pack_files.collect(self.folder, "/nowhere", "abc", "/nowhere")

    def test_has_one_folder_and_nobody_s_names(self):
        files = os.path.join(self.folder, "files")
        os.makedirs(files, mode=0o700)
        with open(os.path.join(files, "file"), "w", encoding="utf-8") as file:
            file.write("text")
        output = os.path.join(self.folder, "pack.tar.xz")
        size = pack_files.archive(files, output, level=0)
        self.assertEqual(size, os.path.getsize(output))
        with tarfile.open(output) as tar:
            self.assertEqual(tar.getnames(), ["acceld_gpu", "acceld_gpu/file"])
            self.assertEqual({(entry.uid, entry.uname, entry.mtime) for entry in tar}, {(0, "root", 0)})
            self.assertEqual(tar.getmember("acceld_gpu").mode, 0o755)

    def test_at_most_40_mib_are_packed_and_more_is_a_failure(self):
        self.assertEqual(pack_files.MAX_BYTES, 40 << 20)
        output = os.path.join(self.folder, "pack.tar.xz")
        arguments = [f"--output={output}", "--level=0"]
        with mock.patch.object(pack_files, "collect", lambda *_: {"glibc": "2.34"}):
            self.assertEqual(pack_files.main(arguments), 0)
            os.remove(output)
            with mock.patch.object(pack_files, "MAX_BYTES", 10):
                self.assertEqual(pack_files.main(arguments), 1)
        self.assertFalse(os.path.exists(output))

    def test_one_that_is_too_large_is_refused_and_not_left_there(self):
        files = os.path.join(self.folder, "files")
        os.makedirs(files)
        output = os.path.join(self.folder, "pack.tar.xz")
        with mock.patch.object(pack_files, "MAX_BYTES", 10):
            with self.assertRaisesRegex(pack_files.Unpackable, r"The archive has \d+ bytes, and 10 at most"):
                pack_files.archive(files, output, level=0)
        self.assertEqual(os.listdir(self.folder), ["files"])


if __name__ == "__main__":
    unittest_main.main()
