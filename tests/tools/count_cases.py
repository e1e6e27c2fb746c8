"""Counts the test cases of one Bazel run, from its events and the JUnit XML of each test it ran.

Prints what failed and where its log is, and ends with the line

    N passed, N failed[, N skipped]

Nothing that went wrong counts as nothing: a target that did not build, a test without a result, without
cases or with XML that cannot be read, and a Bazel that failed for a reason of its own, each count as one
failed case. Exits 0 only if something passed and nothing failed.
"""

import argparse
import json
import sys
import urllib.parse
import xml.etree.ElementTree as ElementTree


class Counts:
    """How many cases passed, failed and were skipped, and a line about each failure."""

    def __init__(self):
        self.passed = 0
        self.failed = 0
        self.skipped = 0
        self.failures = []

    def fail(self, description):
        self.failed += 1
        self.failures.append(description)

    def summary(self):
        line = f"{self.passed} passed, {self.failed} failed"
        return f"{line}, {self.skipped} skipped" if self.skipped else line


class Events:
    """What Bazel's build events (--build_event_json_file) say about each target."""

    def __init__(self, lines):
        self.results = {}  # label -> {(run, shard): (attempt, status, {file name: path})}
        self.unbuilt = set()
        self.incompatible = set()  # Targets not meant for this machine (target_compatible_with).
        for line in lines:
            try:
                self._read(json.loads(line))
            except ValueError:
                continue  # The last line of a Bazel that was killed.

    def _read(self, event):
        event_id = event.get("id", {})
        if "testResult" in event_id and "testResult" in event:
            key, result = event_id["testResult"], event["testResult"]
            files = {
                output["name"]: path_of(output["uri"])
                for output in result.get("testActionOutput", [])
                if "uri" in output
            }
            shards = self.results.setdefault(key["label"], {})
            place = (key.get("run", 1), key.get("shard", 1))
            attempt = key.get("attempt", 1)
            if place not in shards or shards[place][0] <= attempt:
                shards[place] = (attempt, result.get("status", "NO_STATUS"), files)
        elif "targetCompleted" in event_id:
            if event.get("aborted", {}).get("reason") == "SKIPPED":
                self.incompatible.add(event_id["targetCompleted"]["label"])
            elif not event.get("completed", {}).get("success", False):
                self.unbuilt.add(event_id["targetCompleted"]["label"])
        elif "aborted" in event and "configuredLabel" in event_id:
            self.unbuilt.add(event_id["configuredLabel"]["label"])
        elif "aborted" in event and "unconfiguredLabel" in event_id:
            self.unbuilt.add(event_id["unconfiguredLabel"]["label"])


def path_of(uri):
    return urllib.parse.unquote(urllib.parse.urlparse(uri).path)


def count_xml(label, status, xml_path, log_path, counts):
    """Adds the cases of one test's XML to `counts`."""
    try:
        cases = list(ElementTree.parse(xml_path).iter("testcase"))
    except (OSError, TypeError, ElementTree.ParseError) as error:
        counts.fail(f"{label}: {status}, and its XML cannot be read ({error})\n    log: {log_path}")
        return
    if not cases:
        counts.fail(f"{label}: {status}, without a test case\n    log: {log_path}")
        return
    failed = 0
    for case in cases:
        if case.find("failure") is not None or case.find("error") is not None:
            failed += 1
            suite = case.get("classname")
            name = f"{suite}.{case.get('name')}" if suite else case.get("name")
            counts.fail(f"{label}: {name}\n    log: {log_path}")
        elif case.find("skipped") is not None or case.get("status") == "notrun":
            counts.skipped += 1
        else:
            counts.passed += 1
    # A crash or a sanitizer's report at the end of the program comes after its XML is written.
    if status not in ("PASSED", "FLAKY") and failed == 0:
        counts.fail(f"{label}: {status}, though each of its cases passed\n    log: {log_path}")


def count(events, expected, bazel_exit_code):
    """The counts of a run of the `expected` tests (labels)."""
    counts = Counts()
    for label in sorted(set(expected) | set(events.results)):
        if label in events.incompatible:
            counts.skipped += 1
        elif label not in events.results:
            reason = "does not build" if label in events.unbuilt else "was not run"
            counts.fail(f"{label}: {reason}")
        for _, status, files in events.results.get(label, {}).values():
            count_xml(label, status, files.get("test.xml"), files.get("test.log"), counts)
    # A test that ran and failed is not completed successfully either, and is counted above.
    for label in sorted(events.unbuilt - set(expected) - set(events.results)):
        counts.fail(f"{label}: does not build")
    if bazel_exit_code != 0 and counts.failed == 0:
        counts.fail(f"Bazel exited with status {bazel_exit_code}")
    return counts


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--events", required=True, help="the file of --build_event_json_file")
    parser.add_argument("--expected", required=True, help="a file with the label of each test, one a line")
    parser.add_argument("--bazel_exit_code", type=int, required=True)
    options = parser.parse_args(arguments)

    with open(options.expected, encoding="utf-8") as file:
        expected = file.read().split()
    try:
        with open(options.events, encoding="utf-8") as file:
            events = Events(file)
    except OSError:
        events = Events([])  # Bazel did not get as far as writing it: every test was not run.

    counts = count(events, expected, options.bazel_exit_code)
    if counts.failures:
        print("\nFailed:")
        for failure in counts.failures:
            print(f"  {failure}")
    print(counts.summary())
    return 0 if counts.passed > 0 and counts.failed == 0 else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
