import io
import os
import tempfile
import unittest
import xml.etree.ElementTree as ElementTree

import unittest_main


class Examples(unittest.TestCase):
    """One case for each way a case can end; loaded by the tests below only."""

    def passes(self):
        pass

    def fails(self):
        self.fail("a \x01 byte that XML cannot hold")

    def raises(self):
        raise OSError("no such device")

    def skips(self):
        self.skipTest("there is no GPU")

    def fails_in_a_subtest(self):
        with self.subTest(size=3):
            self.fail("size 3 fails")


class UnittestMainTest(unittest.TestCase):
    def run_example(self, name):
        """Runs one case of Examples; returns its XML element and whether the run was a success."""
        runner = unittest.TextTestRunner(stream=io.StringIO(), resultclass=unittest_main._Result)
        result = runner.run(unittest.TestSuite([Examples(name)]))
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "test.xml")
            unittest_main.write_xml(result, path)
            cases = list(ElementTree.parse(path).iter("testcase"))
        self.assertEqual(len(cases), 1)
        self.assertEqual(cases[0].get("name"), name)
        return cases[0], result.wasSuccessful()

    def test_a_passed_case_has_no_child(self):
        case, success = self.run_example("passes")
        self.assertEqual(len(case), 0)
        self.assertTrue(success)

    def test_a_failed_case_has_a_failure(self):
        case, success = self.run_example("fails")
        self.assertIn("a ? byte", case.find("failure").text)
        self.assertFalse(success)

    def test_an_exception_is_an_error(self):
        case, success = self.run_example("raises")
        self.assertEqual(case.find("error").get("message"), "OSError: no such device")
        self.assertFalse(success)

    def test_a_skipped_case_says_why(self):
        case, success = self.run_example("skips")
        self.assertEqual(case.find("skipped").get("message"), "there is no GPU")
        self.assertTrue(success)

    def test_a_failed_subtest_fails_its_case(self):
        case, success = self.run_example("fails_in_a_subtest")
        self.assertIn("size=3", case.find("failure").text)
        self.assertFalse(success)


if __name__ == "__main__":
    # Examples' methods are not named test_*, so only the tests are loaded.
    unittest_main.main()
