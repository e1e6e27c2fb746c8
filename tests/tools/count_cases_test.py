import json
import os
import tempfile
import unittest

import count_cases
import unittest_main

PASSING = '<testcase classname="Gemm" name="Multiplies" status="run" result="completed"/>'
FAILING = '<testcase classname="Gemm" name="Scales"><failure message="1 != 2">1 != 2</failure></testcase>'
CRASHED = '<testcase name="gemm_test"><error message="exited with error code 134"/></testcase>'
SKIPPED = '<testcase classname="Gemm" name="OnGpu" status="run" result="skipped"><skipped/></testcase>'
DISABLED = '<testcase classname="Gemm" name="DISABLED_Big" status="notrun" result="suppressed"/>'

TEST = "//tests:gemm_test"


class CountCasesTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.events = []

    def add_result(self, label, status, xml, **key):
        """Adds what Bazel reports of a test that ran, with `xml` as its test.xml (None: it wrote none)."""
        path = os.path.join(self.folder.name, f"test {len(self.events)}.xml")
        if xml is not None:
            with open(path, "w", encoding="utf-8") as file:
                file.write(xml)
        outputs = [
            {"name": "test.log", "uri": "file:///logs/test.log"},
            {"name": "test.xml", "uri": "file://" + path.replace(" ", "%20")},
        ]
        self.add_event(
            {
                "id": {"testResult": {"label": label, "run": 1, "shard": 1, "attempt": 1, **key}},
                "testResult": {"status": status, "testActionOutput": outputs},
            }
        )

    def add_cases(self, label, status, *cases, **key):
        xml = "".join(cases)
        self.add_result(label, status, f"<testsuites><testsuite>{xml}</testsuite></testsuites>", **key)

    def add_event(self, event):
        self.events.append(json.dumps(event))

    def add_failed_build(self, label):
        self.add_event({"id": {"targetCompleted": {"label": label}}, "completed": {}})

    def count(self, expected=(TEST,), bazel_exit_code=0):
        return count_cases.count(count_cases.Events(self.events), expected, bazel_exit_code)

    def test_each_case_counts_once(self):
        self.add_cases(TEST, "PASSED", PASSING, PASSING)
        self.assertEqual(self.count().summary(), "2 passed, 0 failed")

    def test_a_failed_case_is_named_with_its_log(self):
        self.add_cases(TEST, "FAILED", PASSING, FAILING)
        counts = self.count(bazel_exit_code=3)
        self.assertEqual(counts.summary(), "1 passed, 1 failed")
        self.assertIn("Gemm.Scales", counts.failures[0])
        self.assertIn("/logs/test.log", counts.failures[0])

    def test_skipped_and_disabled_cases_are_neither_passed_nor_failed(self):
        self.add_cases(TEST, "PASSED", PASSING, SKIPPED, DISABLED)
        self.assertEqual(self.count().summary(), "1 passed, 0 failed, 2 skipped")

    def test_a_crash_is_a_failure(self):
        self.add_cases(TEST, "FAILED", CRASHED)
        self.assertEqual(self.count(bazel_exit_code=3).summary(), "0 passed, 1 failed")

    def test_a_failure_after_the_last_case_is_a_failure(self):
        self.add_cases(TEST, "FAILED", PASSING, PASSING)
        self.assertEqual(self.count(bazel_exit_code=3).summary(), "2 passed, 1 failed")

    def test_a_timeout_is_a_failure(self):
        self.add_cases(TEST, "TIMEOUT", PASSING)
        self.assertEqual(self.count(bazel_exit_code=3).summary(), "1 passed, 1 failed")

    def test_xml_without_cases_is_a_failure(self):
        self.add_cases(TEST, "PASSED")
        self.assertEqual(self.count().summary(), "0 passed, 1 failed")

    def test_truncated_xml_is_a_failure(self):
        self.add_result(TEST, "FAILED", "<testsuites><testsuite>" + PASSING)
        self.assertEqual(self.count(bazel_exit_code=3).summary(), "0 passed, 1 failed")

    def test_missing_xml_is_a_failure(self):
        self.add_result(TEST, "FAILED", None)
        self.assertEqual(self.count(bazel_exit_code=3).summary(), "0 passed, 1 failed")

    def test_a_test_that_does_not_build_is_a_failure(self):
        self.add_cases(TEST, "PASSED", PASSING)
        self.add_failed_build("//tests:softmax_test")
        counts = self.count([TEST, "//tests:softmax_test"], bazel_exit_code=1)
        self.assertEqual(counts.summary(), "1 passed, 1 failed")
        self.assertEqual(counts.failures, ["//tests:softmax_test: does not build"])

    def test_a_program_that_does_not_build_is_a_failure(self):
        self.add_cases(TEST, "PASSED", PASSING)
        self.add_failed_build("//server:acceld")
        self.assertEqual(self.count(bazel_exit_code=1).summary(), "1 passed, 1 failed")

    def test_a_failed_test_is_not_also_a_failed_build(self):
        self.add_cases(TEST, "FAILED", FAILING)
        self.add_failed_build(TEST)
        self.assertEqual(self.count(bazel_exit_code=3).summary(), "0 passed, 1 failed")

    def test_a_test_without_a_result_is_a_failure(self):
        self.assertEqual(self.count(bazel_exit_code=8).summary(), "0 passed, 1 failed")

    def test_a_test_for_another_kind_of_machine_is_skipped(self):
        self.add_cases(TEST, "PASSED", PASSING)
        gpu_test = "//tests:gpu_test"
        self.add_event({"id": {"targetCompleted": {"label": gpu_test}}, "aborted": {"reason": "SKIPPED"}})
        self.assertEqual(self.count([TEST, gpu_test]).summary(), "1 passed, 0 failed, 1 skipped")

    def test_a_failure_of_bazel_itself_is_a_failure(self):
        self.add_cases(TEST, "PASSED", PASSING)
        self.assertEqual(self.count(bazel_exit_code=37).summary(), "1 passed, 1 failed")

    def test_of_several_attempts_the_last_counts(self):
        self.add_cases(TEST, "FAILED", FAILING, attempt=1)
        self.add_cases(TEST, "PASSED", PASSING, attempt=2)
        self.assertEqual(self.count().summary(), "1 passed, 0 failed")

    def test_each_shard_counts(self):
        self.add_cases(TEST, "PASSED", PASSING, shard=1)
        self.add_cases(TEST, "PASSED", PASSING, PASSING, shard=2)
        self.assertEqual(self.count().summary(), "3 passed, 0 failed")

    def test_a_truncated_last_event_is_ignored(self):
        self.add_cases(TEST, "PASSED", PASSING)
        self.events.append('{"id": {"testRes')
        self.assertEqual(self.count().summary(), "1 passed, 0 failed")

    def run_main(self, events_path):
        expected_path = os.path.join(self.folder.name, "expected")
        with open(expected_path, "w", encoding="utf-8") as file:
            file.write(TEST + "\n")
        return count_cases.main(
            ["--events", events_path, "--expected", expected_path, "--bazel_exit_code", "0"]
        )

    def write_events(self):
        path = os.path.join(self.folder.name, "events")
        with open(path, "w", encoding="utf-8") as file:
            file.write("\n".join(self.events))
        return path

    def test_exit_status_tells_success(self):
        self.add_cases(TEST, "PASSED", PASSING)
        self.assertEqual(self.run_main(self.write_events()), 0)

    def test_exit_status_tells_failure(self):
        self.add_cases(TEST, "FAILED", FAILING)
        self.assertEqual(self.run_main(self.write_events()), 1)

    def test_nothing_but_skipped_cases_is_no_success(self):
        self.add_cases(TEST, "PASSED", SKIPPED)
        self.assertEqual(self.run_main(self.write_events()), 1)

    def test_without_events_every_test_failed(self):
        self.assertEqual(self.run_main(os.path.join(self.folder.name, "absent")), 1)


if __name__ == "__main__":
    unittest_main.main()
