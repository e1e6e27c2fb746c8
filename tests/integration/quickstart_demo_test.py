"""deploy/quickstart_demo.py tells success from failure: run with stand-ins for the programs."""

import contextlib
import io
import os
import tempfile
import unittest

import quickstart_demo
import unittest_main

# The stand-in of a session is a file named after the client's pid, in the folder of the daemon's socket. A
# client goes on once its session has been listed, which a file beside the programs tells it.
ACCELD = """#!/bin/bash
socket="${1#--socket=}"
trap 'rm "$socket"; exit 0' TERM
touch "$socket"
while true; do sleep 0.02; done
"""

ACCELCTL = """#!/bin/bash
socket="${@: -1}"
socket="${socket#unix:}"
[[ -e $socket ]] || exit 1
[[ $1 == sessions ]] || exit 0
list=
count=0
for session in "$(dirname "$socket")"/session.*; do
  [[ -e $session ]] || continue
  count=$((count + 1))
  touch "${0%/*}/listed.${session##*.}"
  list+="${list:+,}{\\"id\\":\\"${session##*.}\\",\\"identity\\":\\"uid:0\\",\\"pid\\":${session##*.},"
  list+="\\"memory_bytes\\":\\"1048576\\",\\"device_time_us\\":\\"2000000\\",\\"ops\\":\\"42\\"}"
done
echo "{\\"sessions\\":[$list],\\"live_bytes\\":\\"0\\",\\"session_count\\":$count}"
"""

TRAIN_DIGITS = """#!/bin/bash
socket="${2#unix:}"
session="$(dirname "$socket")/session.$$"
touch "$session"
echo "epoch 1" >&2
while [[ -e $session && ! -e ${0%/*}/listed.$$ ]]; do sleep 0.01; done
rm -f "$session"
echo '{"accuracy": 0.98, "losses": [0.1], "images_per_second": 1000.0, "backend": "cpu"}'
"""


class QuickstartDemoTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = folder.name
        os.mkdir(os.path.join(self.root, "bin"))

    def run_demo(self, acceld=ACCELD, accelctl=ACCELCTL, train_digits=TRAIN_DIGITS):
        """Runs the demonstration with these programs; returns its exit status and all it printed."""
        programs = {"acceld": acceld, "accelctl": accelctl, "train_digits": train_digits}
        for name, text in programs.items():
            path = os.path.join(self.root, "bin", name)
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            os.chmod(path, 0o755)
        output = io.StringIO()
        with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
            status = quickstart_demo.main([self.root])
        self.assertEqual(os.listdir(self.root), ["bin"], "The demonstration left a file.")
        return status, output.getvalue()

    def test_succeeds_and_shows_progress_results_and_usage(self):
        status, output = self.run_demo()
        self.assertEqual(status, 0, output)
        self.assertIn("client 1 | epoch 1", output)
        self.assertIn("client 2: 98.00%", output)
        self.assertRegex(output, r"client 1 +uid:0 +\d+ +1\.0 MiB +2\.00 s +50% +42")

    def test_fails_if_a_client_misses_its_accuracy(self):
        status, output = self.run_demo(train_digits=TRAIN_DIGITS.replace("0.98", "0.96"))
        self.assertEqual(status, 1)
        self.assertIn("reached 96.00%", output)

    def test_fails_if_a_client_fails(self):
        status, output = self.run_demo(train_digits=TRAIN_DIGITS + "exit 1\n")
        self.assertEqual(status, 1)
        self.assertIn("client 1 ended with status 1", output)

    def test_fails_if_a_client_prints_no_result(self):
        status, output = self.run_demo(train_digits=TRAIN_DIGITS.replace('"accuracy"', '"hits"'))
        self.assertEqual(status, 1)
        self.assertIn("printed no result", output)

    def test_fails_with_the_log_if_the_daemon_does_not_start(self):
        status, output = self.run_demo(acceld="#!/bin/bash\necho no device >&2\nexit 1\n")
        self.assertEqual(status, 1)
        self.assertIn("acceld ended with status 1", output)
        self.assertIn("no device", output)

    def test_fails_if_the_daemon_does_not_drain_cleanly(self):
        status, output = self.run_demo(acceld=ACCELD.replace("exit 0", "exit 3"))
        self.assertEqual(status, 1)
        self.assertIn("acceld ended with status 3", output)

    def test_fails_if_the_daemon_leaves_its_socket(self):
        status, output = self.run_demo(acceld=ACCELD.replace('rm "$socket"; ', ""))
        self.assertEqual(status, 1)
        self.assertIn("acceld left acceld.sock", output)

    def test_fails_if_the_daemon_shows_no_session(self):
        status, output = self.run_demo(train_digits=TRAIN_DIGITS.replace("touch", "true"))
        self.assertEqual(status, 1)
        self.assertIn("showed 0 sessions of the 2 clients", output)

    def test_fails_if_a_program_is_missing(self):
        output = io.StringIO()
        with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
            self.assertEqual(quickstart_demo.main([self.root]), 1)
        self.assertIn("acceld", output.getvalue())


if __name__ == "__main__":
    unittest_main.main()
