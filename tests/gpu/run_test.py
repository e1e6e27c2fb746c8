"""tests/gpu/run on stand-ins (standins.py): what it runs, says and counts.

    run_test.py SCRIPT... PATH_IN_THE_PACK=PROGRAM...
"""

import json
import os
import subprocess
import sys
import tarfile
import tempfile
import time
import unittest

import report
import standins
import steps
import unittest_main

SCRIPTS = [argument for argument in sys.argv[1:] if "=" not in argument]
PROGRAMS = dict(argument.split("=") for argument in sys.argv[1:] if "=" in argument)
del sys.argv[1:]


def make_folder(test):
    # TEST_TMPDIR is too long for the path of a socket.
    folder = tempfile.TemporaryDirectory(prefix="acceld.", dir="/tmp")
    test.addCleanup(folder.cleanup)
    return folder.name


class RunTest(unittest.TestCase):
    def run_with(self, *arguments, programs=None, environment=None, **host):
        """Runs it quickly on a host that has what `host` says; its result, and the report where there is one."""
        folder = make_folder(self)
        pack = os.path.join(folder, "pack")
        standins.make_pack(pack, SCRIPTS, {**PROGRAMS, **(programs or {})})
        variables = {**standins.make_host(os.path.join(folder, "host"), **host), **(environment or {})}
        path = os.path.join(folder, "report.json")
        result = standins.run(pack, variables, "--quick", f"--json={path}", *arguments)
        measured = None
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                measured = json.load(file)
            self.assertIn("report.txt", os.listdir(os.path.join(pack, "out", "gpu")))
        return result, measured

    def script(self, text):
        path = os.path.join(make_folder(self), "program")
        standins.write_script(path, "#!/bin/bash\n" + text)
        return path

    def test_runs_every_step_and_ends_with_the_count(self):
        result, measured = self.run_with()
        self.assertEqual(result.returncode, 0, result.stdout)
        self.assertRegex(result.stdout.split("\n")[-2], r"^\d+ passed, 0 failed$")
        names = [step["name"] for step in measured["steps"]]
        self.assertEqual(names, ["selftest", "in_process", "shm", "bench", "memcheck", "racecheck", "tcp"])
        for step in measured["steps"]:
            self.assertGreater(step["passed"], 0, step)
        self.assertEqual(measured["card"]["name"], "A card")
        self.assertEqual(measured["card"]["cuda"], "13.0")
        self.assertIn("acceld abc on A card (compute capability 9.0, 140 GiB), driver 580.65.06", result.stdout)
        self.assertIn("conv_bwd_filter_512x7x7_1x1_b32_vs_cudnn", result.stdout)
        self.assertTrue(all("value" in figure for figure in measured["figures"]))
        names = [figure["name"] for figure in measured["figures"]]
        for beginning, _, _ in report.TARGETS:
            self.assertTrue(any(name.startswith(beginning) for name in names), beginning)

    def test_in_a_checkout_it_unpacks_what_is_there_and_runs_that(self):
        folder = make_folder(self)
        checkout = os.path.join(folder, "checkout")
        standins.make_pack(checkout, SCRIPTS, {})
        os.remove(os.path.join(checkout, "manifest.json"))
        environment = standins.make_host(os.path.join(folder, "host"))
        result = standins.run(checkout, environment)
        self.assertEqual(result.returncode, 1)
        self.assertIn("There is no out/acceld_gpu.tar.xz; tests/gpu/pack makes it", result.stdout)

        pack = os.path.join(folder, "pack")
        standins.make_pack(pack, SCRIPTS, PROGRAMS)
        os.makedirs(os.path.join(checkout, "out"))
        with tarfile.open(os.path.join(checkout, "out", "acceld_gpu.tar.xz"), "w:xz", preset=0) as tar:
            tar.add(pack, "acceld_gpu")
        result = standins.run(checkout, {**environment, "TMPDIR": folder}, "--only=selftest", "--quick")
        self.assertEqual(result.returncode, 0, result.stdout)
        self.assertRegex(result.stdout, r"\n\d+ passed, 0 failed\n$")
        self.assertIn("report.json", os.listdir(os.path.join(checkout, "out", "gpu")))
        # Nothing else is left there.
        self.assertEqual(sorted(os.listdir(folder)), ["checkout", "host", "pack"])

    def test_is_ended_with_all_that_it_runs(self):
        folder = make_folder(self)
        pack = os.path.join(folder, "pack")
        mark = os.path.join(folder, "running")
        hangs = self.script(f"echo $$ >{mark}; exec sleep 1000")
        standins.make_pack(pack, SCRIPTS, {**PROGRAMS, "tests/conformance/cuda_in_process": hangs})
        environment = standins.make_host(os.path.join(folder, "host"))
        running = subprocess.Popen(
            [os.path.join(pack, "tests", "gpu", "run"), "--only=in_process"],
            env=environment,
            stdout=subprocess.DEVNULL,
        )
        while not (os.path.exists(mark) and os.path.getsize(mark)):
            time.sleep(0.01)
        running.terminate()
        self.assertEqual(running.wait(60), 143)
        with open(mark, encoding="ascii") as file:
            self.assertFalse(os.path.exists(f"/proc/{int(file.read())}"))

    def test_without_a_card_it_says_so_and_lists_what_is_missing(self):
        result, measured = self.run_with(card=False, libraries=False, sanitizer=False)
        self.assertEqual(result.returncode, 1)
        self.assertIsNone(measured)
        self.assertIn("MISSING: A card: neither the driver's library, libcuda.so.1, nor nvidia-smi", result.stdout)
        self.assertTrue(result.stdout.endswith("tests/gpu/run: There is no card to run on.\n"), result.stdout)

    def test_without_compute_sanitizer_its_steps_are_skipped_aloud(self):
        result, measured = self.run_with("--only=memcheck,selftest", sanitizer=False)
        self.assertEqual(result.returncode, 0, result.stdout)
        self.assertIn("Skipped: compute-sanitizer is not there.", result.stdout)
        self.assertRegex(result.stdout, r"\d+ passed, 0 failed, 1 skipped\n$")
        self.assertEqual([step["name"] for step in measured["steps"]], ["selftest", "memcheck"])

    def test_where_compute_sanitizer_takes_too_long_the_rest_is_skipped_aloud(self):
        folder = make_folder(self)
        begun = "[ RUN      ] A.B\\n[       OK ] A.B (1 ms)\\n[ RUN      ] A.C\\n"
        for found, counts in (("", (1, 0, 1)), ("========= Invalid __global__ read of size 4 bytes\\n", (1, 2, 0))):
            with self.subTest(found=found):
                hangs = self.script(f"printf '{begun}{found}'; exec sleep 1000")
                runner = steps.Runner(folder, folder, dict(os.environ), hangs, quick=False)
                (step,) = [step for step in steps.STEPS if step.name == "racecheck"]
                result = runner.run(step, limit_s=1)
                self.assertEqual((result["passed"], result["failed"], result["skipped"]), counts)
                self.assertIn("not done after 1 s.", result["problems"][-1])

    def test_the_benchmark_is_told_how_long_it_may_take(self):
        folder = make_folder(self)
        pack = os.path.join(folder, "tests", "bench", "cuda", "bench")
        standins.write_script(pack, '#!/bin/bash\necho "bench: $2 cannot be measured. So it is."\n')
        runner = steps.Runner(folder, folder, dict(os.environ), None, quick=False)
        (step,) = [step for step in steps.STEPS if step.name == "bench"]
        self.assertEqual(runner.run(step, limit_s=75)["problems"], ["--total_limit=65s: So it is."])

    def test_all_use_the_first_card_unless_the_variable_says_another(self):
        says = self.script('echo "$CUDA_DEVICE_ORDER $CUDA_VISIBLE_DEVICES."; exit 1')
        programs = {"tests/conformance/cuda_in_process": says}
        for variables, seen in (({}, "PCI_BUS_ID 0."), ({"CUDA_VISIBLE_DEVICES": "3"}, "PCI_BUS_ID 3.")):
            result, _ = self.run_with("--only=in_process", programs=programs, environment=variables)
            self.assertIn(f"It ended with status 1: {seen}", result.stdout)

    def test_what_compute_sanitizer_finds_is_a_failure(self):
        result, measured = self.run_with("--only=racecheck", environment={"FOUND": "3"})
        self.assertEqual(result.returncode, 1)
        self.assertEqual(measured["steps"][0]["failed"], 1)
        self.assertIn("compute-sanitizer found something", result.stdout)

    def test_a_step_that_fails_does_not_keep_the_rest_from_running(self):
        programs = {
            "tests/conformance/cuda_in_process": self.script("echo 'There is no CUDA device: so it is.'; exit 1"),
            "tests/bench/cuda/bench": self.script("echo 'bench: a_us cannot be measured. It hung.'; exit 1"),
            "server/acceld": self.script("exit 1"),
        }
        result, measured = self.run_with("--only=selftest,in_process,bench,shm", programs=programs)
        self.assertEqual(result.returncode, 1)
        by_name = {step["name"]: step for step in measured["steps"]}
        self.assertIn("acceld does not start; see acceld.log.", by_name["selftest"]["problems"])
        self.assertEqual(
            by_name["in_process"]["problems"], ["It ended with status 1: There is no CUDA device: so it is."]
        )
        self.assertEqual(by_name["bench"]["problems"], ["a_us: It hung."])
        self.assertEqual([step["failed"] for step in measured["steps"]], [1, 1, 1, 1])
        self.assertTrue(result.stdout.endswith("0 passed, 4 failed\n"), result.stdout)

    def test_programs_that_do_not_start_are_explained(self):
        programs = {"client/accelctl": self.script("echo 'libc.so.6: version GLIBC_2.34 not found' >&2; exit 1")}
        result, _ = self.run_with(programs=programs)
        self.assertEqual(result.returncode, 1)
        self.assertIn("cannot start here: libc.so.6: version GLIBC_2.34 not found", result.stdout)

    def test_gcc_s_libraries_of_the_host_are_taken_where_those_of_the_pack_do_not_do(self):
        # As where the C library is older than they need.
        picky = '[[ $LD_LIBRARY_PATH != */lib/gcc:* ]] || { echo "no" >&2; exit 1; }\n'
        programs = {"client/accelctl": self.script(picky + f'exec {os.path.realpath(PROGRAMS["client/accelctl"])} "$@"')}
        result, _ = self.run_with("--only=selftest", programs=programs)
        self.assertEqual(result.returncode, 0, result.stdout)

    def test_a_folder_that_cannot_be_made_is_named(self):
        result, _ = self.run_with("--out=/proc/nowhere")
        self.assertEqual(result.returncode, 1)
        self.assertRegex(result.stdout, r"The folder for the logs cannot be made: .*/proc/nowhere.*; see --out\.\n$")

    def test_refuses_a_step_that_is_none(self):
        result, _ = self.run_with("--only=swim")
        self.assertEqual(result.returncode, 2)
        self.assertEqual(result.stdout, "tests/gpu/run: There is no step swim; --help lists the options.\n")


if __name__ == "__main__":
    unittest_main.main()
