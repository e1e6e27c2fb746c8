"""What tests/gpu/run reads out of the programs' output, and what it makes of it."""

import contextlib
import io
import os
import tempfile
import time
import unittest
from unittest import mock

import host
import report
import steps
import unittest_main

CASES = """\
Running main() from gmock_main.cc
Note: Google Test filter = *
[==========] Running 4 tests from 2 test suites.
[ RUN      ] GemmTest/0.IsRight
[       OK ] GemmTest/0.IsRight (12 ms)
[ RUN      ] GemmTest/0.IsWrong
tests/conformance/fixture.cc:12: Failure
[  FAILED  ] GemmTest/0.IsWrong, where TypeParam = float (3 ms)
[ RUN      ] Ops/AnyOpTest.IsWrong/gemm
[  FAILED  ] Ops/AnyOpTest.IsWrong/gemm, where GetParam() = 4-byte object <00-00 00-00> (0 ms)
[ RUN      ] MapTest.Maps
[  SKIPPED ] MapTest.Maps (0 ms)
[----------] Global test environment tear-down
[==========] 4 tests from 2 test suites ran. (15 ms total)
[  PASSED  ] 1 test.
[  SKIPPED ] 1 test, listed below:
[  SKIPPED ] MapTest.Maps
[  FAILED  ] 2 tests, listed below:
[  FAILED  ] GemmTest/0.IsWrong, where TypeParam = float
"""

FIGURES = """\
gemm_f32_4096_vs_cublas 0.9842 ratio
  quartiles 0.98 and 0.99, 25 rounds; 50.1 against 51.4 TFLOP/s; took 1.6 s
launch_pipelined_shm_us 6.125 us
  quartiles 6 and 6.25, 25 rounds; took 2.0 s
bench: conv_fwd_512x7x7_1x1_b32_vs_cudnn cannot be measured. The library libcudnn.so.9 cannot be opened.
copy_htod_plain_vs_bus 0.5 ratio
  quartiles 0.4 and 0.6, 25 rounds; 1.2e+04 against 24000 GB/s; took 1.0 s
"""


def a_run():
    return {
        "date": "2026-11-30T12:00:00+00:00",
        "card": {
            "name": "NVIDIA H200",
            "driver": "580.65.06",
            "cuda": "13.0",
            "memory_mib": "143771",
            "compute_capability": "9.0",
        },
        "build": {"commit": "abc", "cuda": "13.0"},
        "quick": False,
        "steps": [
            {"name": "in_process", "passed": 610, "failed": 0, "skipped": 4, "problems": [], "seconds": 20.25},
            {"name": "bench", "passed": 3, "failed": 1, "skipped": 0, "problems": ["It is so."], "seconds": 100},
        ],
        "figures": report.judge(report.figures(FIGURES)),
    }


class CasesTest(unittest.TestCase):
    def test_counts_each_case_once(self):
        result = report.cases(CASES)
        self.assertEqual((result["passed"], result["failed"], result["skipped"]), (1, 2, 1))
        self.assertEqual(result["problems"], ["GemmTest/0.IsWrong failed.", "Ops/AnyOpTest.IsWrong/gemm failed."])

    def test_a_case_that_does_not_end_has_failed(self):
        result = report.cases("[ RUN      ] A.B\n[       OK ] A.B (1 ms)\n[ RUN      ] A.C\nSegmentation fault\n")
        self.assertEqual((result["passed"], result["failed"]), (1, 1))
        self.assertEqual(result["problems"], ["A.C did not come to its end."])

    def test_unless_the_program_was_cut_short(self):
        result = report.cases("[ RUN      ] A.B\n[       OK ] A.B (1 ms)\n[ RUN      ] A.C\n", cut_short=True)
        self.assertEqual((result["passed"], result["failed"], result["problems"]), (1, 0, []))

    def test_nothing_is_nothing(self):
        self.assertEqual(report.cases(""), report.NOTHING)


class SanitizerTest(unittest.TestCase):
    def test_counts_what_each_tool_found(self):
        self.assertEqual(report.sanitizer_errors("========= ERROR SUMMARY: 0 errors\n"), 0)
        self.assertEqual(report.sanitizer_errors("========= ERROR SUMMARY: 1 error\n"), 1)
        race = "========= RACECHECK SUMMARY: 2 hazards displayed (1 error, 1 warning)\n"
        self.assertEqual(report.sanitizer_errors(race), 2)

    def test_without_a_summary_it_did_not_run(self):
        self.assertIsNone(report.sanitizer_errors("========= Error: Target application terminated\n"))


    def test_sees_what_it_has_found_so_far(self):
        for line in (
            "========= Invalid __global__ write of size 4 bytes",
            "========= Misaligned address",
            "========= Error: Race reported between Write access at K and Read access at K [16 hazards]",
            "========= Warning: Race reported between Read access at K and Write access at K [16 hazards]",
        ):
            self.assertTrue(report.sanitizer_findings(f"[ RUN      ] A.B\n{line}\n"), line)
        self.assertFalse(report.sanitizer_findings("========= COMPUTE-SANITIZER\n[ RUN      ] A.B\n"))


class FiguresTest(unittest.TestCase):
    def test_reads_values_sides_and_problems(self):
        gemm, launch, convolution, copy = report.figures(FIGURES)
        self.assertEqual(
            gemm,
            {
                "name": "gemm_f32_4096_vs_cublas",
                "value": 0.9842,
                "unit": "ratio",
                "low": 0.98,
                "high": 0.99,
                "rounds": 25,
                "acceld": 50.1,
                "direct": 51.4,
                "sides_unit": "TFLOP/s",
            },
        )
        self.assertNotIn("acceld", launch)
        self.assertEqual(convolution["problem"], "The library libcudnn.so.9 cannot be opened.")
        self.assertNotIn("value", convolution)
        self.assertEqual(copy["acceld"], 12000)

    def test_judges_by_the_targets(self):
        gemm, launch, convolution, copy = report.judge(report.figures(FIGURES))
        self.assertEqual((gemm["target"], gemm["reached"]), (">= 0.97", True))
        self.assertEqual((launch["target"], launch["reached"]), ("<= 5", False))
        self.assertEqual((convolution["target"], convolution["reached"]), (">= 0.95", None))
        self.assertEqual((copy["target"], copy["reached"]), (None, None))

    def test_a_value_on_the_target_reaches_it(self):
        (figure,) = report.judge([{"name": "unary_exp_64M_vs_copy", "value": 0.85, "unit": "ratio"}])
        self.assertTrue(figure["reached"])


class TextTest(unittest.TestCase):
    def test_shows_card_steps_and_figures_and_ends_with_the_count(self):
        text = report.text(a_run())
        self.assertTrue(
            text.startswith(
                "acceld abc on NVIDIA H200 (compute capability 9.0, 140 GiB), driver 580.65.06 with CUDA 13.0, "
                "built with CUDA 13.0; 2026-11-30T12:00:00+00:00\n"
            ),
            text,
        )
        self.assertRegex(text, r"(?m)^in_process +610 +0 +4 +20\.2$")
        self.assertRegex(text, r"(?m)^gemm_f32_4096_vs_cublas +50\.1 +51\.4 +TFLOP/s +0\.9842 +>= 0\.97 +yes$")
        self.assertRegex(text, r"(?m)^launch_pipelined_shm_us +6\.125 us +<= 5 +NO$")
        self.assertRegex(text, r"(?m)^conv_fwd_512x7x7_1x1_b32_vs_cudnn +- +>= 0\.95$")
        self.assertRegex(text, r"(?m)^copy_htod_plain_vs_bus +12000 +24000 +GB/s +0\.5$")
        self.assertIn("bench: It is so.\n", text)
        self.assertIn("1 of 3 targets are reached.\n", text)
        self.assertTrue(text.endswith("\n613 passed, 1 failed, 4 skipped\n"), text)


class StepsTest(unittest.TestCase):
    def test_all_together_take_less_than_eight_minutes(self):
        self.assertLessEqual(sum(step.limit_s for step in steps.STEPS), steps.TOTAL_S)
        # What comes before and behind them takes some time, too.
        self.assertLessEqual(steps.TOTAL_S, 8 * 60 - 30)

    def limits(self, left_s):
        """Of each step, where so much time is left and none takes any."""
        limits = []

        class Runner(steps.Runner):
            def run(self, step, limit_s):
                limits.append(limit_s)
                return {**report.NOTHING, "problems": []}

        runner = Runner("/nowhere", "/nowhere", {}, None, quick=False)
        with contextlib.redirect_stdout(io.StringIO()):
            runner.run_all(steps.STEPS, time.monotonic() + left_s)
        return limits

    def test_what_comes_before_the_steps_is_taken_off_their_time(self):
        self.assertGreater(self.limits(steps.TOTAL_S)[-1], 400)
        self.assertLessEqual(max(self.limits(30)), 30)
        self.assertEqual(set(self.limits(-5)), {1})

    def test_a_program_that_hangs_is_killed_at_its_limit(self):
        with tempfile.TemporaryDirectory() as folder:
            program = os.path.join(folder, "hangs")
            with open(program, "w", encoding="utf-8") as file:
                file.write("#!/bin/bash\necho '[ RUN      ] A.B'\nsleep 1000 &\nsleep 1000\n")
            os.chmod(program, 0o755)
            runner = steps.Runner(folder, folder, dict(os.environ), None, quick=False)
            step = steps.Step("hangs", "", limit_s=1, kind="cases", program="hangs")
            result = runner.run(step, limit_s=1)
        self.assertEqual(result["problems"], ["A.B did not come to its end.", "It was not done after 1 s."])
        self.assertEqual(result["failed"], 2)


class HostTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def add(self, *path):
        path = os.path.join(self.folder, *path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8"):
            pass
        os.chmod(path, 0o755)

    def environment(self, **variables):
        return mock.patch.dict(os.environ, {"PATH": "/nowhere", **variables}, clear=True)

    def test_names_the_card_that_the_driver_shows(self):
        smi = host.Card("A", "580", "13.0", "1", "8.0")
        for by_driver in (host.Card("B", "580", "13.0", "1", "9.0"), None):
            with mock.patch.object(host, "card_by_nvidia_smi", lambda: smi):
                with mock.patch.object(host, "card_by_driver", lambda card=by_driver: card):
                    found = host.look_around({"cublas": "libcublas.so.13", "cudnn": "libcudnn.so.9"})
            self.assertEqual(found.card, by_driver or smi)

    def test_finds_a_library_where_a_variable_says(self):
        self.add("libthing.so.7")
        with self.environment(LD_LIBRARY_PATH=f"/nowhere:{self.folder}"):
            self.assertEqual(host.find_library("libthing.so.7")[0], self.folder)

    def test_finds_a_library_in_a_toolkit(self):
        self.add("lib64", "libthing.so.7")
        with self.environment(CUDA_PATH=self.folder):
            self.assertEqual(host.find_library("libthing.so.7")[0], f"{self.folder}/lib64")

    def test_finds_a_library_among_the_packages_of_pip(self):
        self.add("lib", "python3.99", "site-packages", "nvidia", "thing", "lib", "libthing.so.7")
        with self.environment(VIRTUAL_ENV=self.folder):
            self.assertEqual(
                host.find_library("libthing.so.7")[0],
                f"{self.folder}/lib/python3.99/site-packages/nvidia/thing/lib",
            )

    def test_a_library_that_the_system_finds_needs_no_folder(self):
        with self.environment():
            self.assertEqual(host.find_library("libc.so.6")[0], "")

    def test_says_where_it_looked_for_what_is_missing(self):
        with self.environment(LD_LIBRARY_PATH="/nowhere", CUDA_PATH="/not/here"):
            folder, looked = host.find_library("libthing.so.7")
        self.assertIsNone(folder)
        for place in ("LD_LIBRARY_PATH (/nowhere)", "ldconfig", "/not/here/lib64", "the packages nvidia-* of pip"):
            self.assertIn(place, looked)

    def test_finds_compute_sanitizer_in_a_toolkit(self):
        self.add("compute-sanitizer", "compute-sanitizer")
        with self.environment(CUDA_HOME=self.folder):
            self.assertEqual(host.find_sanitizer()[0], f"{self.folder}/compute-sanitizer/compute-sanitizer")


if __name__ == "__main__":
    unittest_main.main()
