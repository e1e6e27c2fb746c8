"""A daemon and its plugins: what `accelctl info` says where there is no card, or no plugin that can be used,
while the CPU serves.

Usage: cuda_plugin_test.py [FILE...], the cuda plugin where it is built.
"""

import os
import shutil
import subprocess
import sys
import unittest

import daemon
import unittest_main

ACCELCTL = os.path.abspath("client/accelctl")
PLUGINS = os.path.abspath("tests/testing/plugins")
REAL = [os.path.dirname(os.path.abspath(path)) for path in sys.argv[1:]]
del sys.argv[1:]
TIMEOUT_S = 60


class CudaPlugin(unittest.TestCase):
    def info(self, folder, *flags, **environment):
        """Checks that the CPU serves; returns what is said of cuda, and the daemon's log."""
        with daemon.Daemon(f"--plugin_folder={folder}", *flags, environment=environment) as running:

            def run(*command):
                result = subprocess.run(
                    [ACCELCTL, *command, f"--endpoint={running.unix_endpoint}"],
                    capture_output=True,
                    text=True,
                    timeout=TIMEOUT_S,
                    check=False,
                )
                self.assertEqual(result.returncode, 0, result.stderr)
                return result.stdout

            text = run("info")
            self.assertRegex(text, r"(?m)^cpu +yes")
            self.selftest = run("selftest")
            self.assertIn(" 0 wrong, 0 failed", self.selftest)
            self.assertTrue(running.is_alive())
            lines = [line for line in text.split("\n") if line.startswith("cuda ")]
            self.assertEqual(len(lines), 1, text)
            return lines[0], running.log()

    def real(self, **environment):
        if not REAL:
            self.skipTest("no CUDA toolkit is installed, so that the cuda plugin is not built")
        if os.path.exists("/dev/nvidiactl"):
            self.skipTest("this machine may have a card")
        return self.info(REAL[0], **environment)

    def test_the_real_plugin_says_that_there_is_no_device_and_why(self):
        line, log = self.real()
        self.assertIn("There is no CUDA device: no NVIDIA driver is installed", line)
        self.assertIn("cudaErrorInsufficientDriver", line)
        self.assertIn("a plugin brings no devices", log)

    def test_the_real_plugin_with_no_device_visible(self):
        line, _ = self.real(CUDA_VISIBLE_DEVICES="")
        self.assertIn("There is no CUDA device: ", line)

    def test_no_plugin(self):
        folder = daemon.make_folder()
        try:
            line, log = self.info(folder, "--log_level=debug")
        finally:
            shutil.rmtree(folder)
        self.assertIn("There is no plugin libacceld_cuda.so.", line)
        self.assertIn(f"looked for plugins folders={folder} found=0", log)

    def test_a_folder_that_is_not_there(self):
        line, _ = self.info("/nowhere")
        self.assertIn("There is no plugin libacceld_cuda.so.", line)

    def test_a_plugin_of_another_build(self):
        line, log = self.info(f"{PLUGINS}/other_build")
        self.assertIn("it is of another build of acceld, 0123, and this program is", line)
        self.assertIn("a plugin brings no devices", log)

    def test_a_library_that_is_no_plugin(self):
        line, _ = self.info(f"{PLUGINS}/no_plugin")
        self.assertIn("it has no function acceld_plugin.", line)

    def test_a_file_that_is_no_library(self):
        folder = daemon.make_folder()
        try:
            with open(f"{folder}/libacceld_cuda.so", "w", encoding="ascii") as file:
                file.write("text")
            line, _ = self.info(folder)
        finally:
            shutil.rmtree(folder)
        self.assertIn("libacceld_cuda.so cannot be used: ", line)
        self.assertIn("file too short", line)

    def test_a_device_that_computes_wrong_is_passed_over(self):
        # It is preferred to the CPU, and does no work.
        _, log = self.info(f"{PLUGINS}/two_devices")
        self.assertIn("found devices by a plugin", log)
        self.assertIn("cuda device 0 (test card) computes a gemm of f32 wrong", log)
        self.assertNotIn("OPENBLAS_CORETYPE", log)
        self.assertIn("cpu device 0: chosen", log)

    def test_a_card_without_its_libraries(self):
        folder = f"{PLUGINS}/fake_card"
        line, log = self.info(folder, ACCELD_FAKE_CARD_LACKS="cublas,cudnn")
        self.assertRegex(line, "^cuda +yes")
        self.assertIn("cuda device 0: chosen", log)
        unsupported = [line for line in self.selftest.split("\n") if " unsupported: " in line]
        ops = {line.split()[0] for line in unsupported}
        self.assertEqual({op for op in ops if "gemm" not in op and "conv2d" not in op}, set())
        for line in unsupported:
            library = "libcudnn.so.0" if "conv2d" in line else "libcublas.so.0"
            self.assertIn(f"The library {library} cannot be opened", line)


if __name__ == "__main__":
    unittest_main.main()
