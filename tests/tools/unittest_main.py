"""Runs a module's unittest cases under Bazel, and writes each as a case of the JUnit XML that Bazel asks for.

    if __name__ == "__main__":
        unittest_main.main()

Without it Bazel reports a Python test as one case, however many it has.
"""

import os
import re
import sys
import time
import unittest
import xml.etree.ElementTree as ElementTree

# What XML 1.0 cannot hold, not even escaped.
_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class _Result(unittest.TextTestResult):
    """A result that remembers each case as an XML element."""

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self.cases = []
        self._started = 0.0

    def startTest(self, test):
        super().startTest(test)
        self._started = time.monotonic()
        self._add(test)

    def stopTest(self, test):
        self.cases[-1].set("time", f"{time.monotonic() - self._started:.3f}")
        super().stopTest(test)

    def addError(self, test, err):
        super().addError(test, err)
        self._note(test, "error", self.errors[-1][1])

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self._note(test, "failure", self.failures[-1][1])

    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        if err is not None:
            self._note(test, "failure", f"{subtest}: {self._exc_info_to_string(err, test)}")

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self._note(test, "skipped", reason)

    def addUnexpectedSuccess(self, test):
        super().addUnexpectedSuccess(test)
        self._note(test, "failure", "Passed, but is marked as an expected failure.")

    def _add(self, test):
        name = getattr(test, "_testMethodName", str(test))
        self.cases.append(
            ElementTree.Element("testcase", classname=type(test).__name__, name=name, time="0")
        )

    def _note(self, test, tag, text):
        # What fails in setUpClass or setUpModule has no case that started.
        if not isinstance(test, unittest.TestCase):
            self._add(test)
        text = _NOT_XML.sub("?", text)
        message = text.strip().rpartition("\n")[2]
        ElementTree.SubElement(self.cases[-1], tag, message=message).text = text


def write_xml(result, path):
    suite = ElementTree.Element("testsuite", name=sys.argv[0], tests=str(len(result.cases)))
    suite.extend(result.cases)
    ElementTree.ElementTree(suite).write(path, encoding="utf-8", xml_declaration=True)


def main():
    """Runs the cases of the main module; exits 0 only if there are some and none failed."""
    pattern = os.environ.get("TESTBRIDGE_TEST_ONLY")  # bazel test --test_filter
    loader = unittest.TestLoader()
    if pattern:
        loader.testNamePatterns = [pattern if "*" in pattern else f"*{pattern}*"]
    suite = loader.loadTestsFromModule(sys.modules["__main__"])
    runner = unittest.TextTestRunner(stream=sys.stderr, verbosity=2, resultclass=_Result)
    result = runner.run(suite)
    if "XML_OUTPUT_FILE" in os.environ:
        write_xml(result, os.environ["XML_OUTPUT_FILE"])
    sys.exit(0 if result.wasSuccessful() and result.testsRun > 0 else 1)
