"""train_digits through a daemon: what it gives is what it gives in its own process, bit for bit.

    train_digits_daemon_test.py TRAIN_DIGITS ACCELD
"""

import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import unittest

import train_digits_program
import unittest_main

TRAIN_DIGITS = ""
ACCELD = ""

TIMEOUT_S = 60


class Daemon:
    """An acceld on a socket in a folder of its own."""

    def __init__(self):
        # TEST_TMPDIR is too long for the path of a socket.
        self._folder = tempfile.mkdtemp(prefix="acceld.", dir="/tmp")
        self.socket_path = os.path.join(self._folder, "acceld.sock")
        self.endpoint = f"unix:{self.socket_path}"
        self._log_path = os.path.join(self._folder, "log")
        notify_path = os.path.join(self._folder, "notify")
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notify, open(
            self._log_path, "wb"
        ) as log:
            notify.bind(notify_path)
            self._process = subprocess.Popen(
                [ACCELD, f"--socket={self.socket_path}"],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={"PATH": "/usr/bin:/bin", "NOTIFY_SOCKET": notify_path},
            )
            try:
                self._wait_until_ready(notify)
            except BaseException:
                self.close()
                raise

    def _wait_until_ready(self, notify):
        end = os.pidfd_open(self._process.pid)
        try:
            while True:
                readable, _, _ = select.select([notify, end], [], [], TIMEOUT_S)
                if notify not in readable:
                    raise RuntimeError(f"The daemon does not become ready:\n{self.log()}")
                if "READY=1" in notify.recv(65536).decode().splitlines():
                    return
        finally:
            os.close(end)

    def log(self):
        with open(self._log_path, encoding="utf-8", errors="replace") as file:
            return file.read()

    def stop(self):
        """Asks it to end; returns its exit code."""
        self._process.send_signal(signal.SIGTERM)
        return self._process.wait(TIMEOUT_S)

    def close(self):
        self._process.kill()
        self._process.wait()
        shutil.rmtree(self._folder)


class TrainDigitsDaemonTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        exit_code, training = train_digits_program.run(TRAIN_DIGITS, "--in-process", "--json")
        if exit_code != 0:
            raise RuntimeError(f"The run in process fails:\n{training.stderr}")
        cls.expected = training.result()

    def setUp(self):
        self.daemon = Daemon()
        self.addCleanup(self.daemon.close)

    def start_training(self):
        training = train_digits_program.TrainDigits(
            TRAIN_DIGITS, f"--endpoint={self.daemon.endpoint}", "--json"
        )
        self.addCleanup(training.kill)
        return training

    def assert_as_in_process(self, training):
        self.assertEqual(training.wait(), 0, f"{training.stderr}\n{self.daemon.log()}")
        result = training.result()
        # Losses are printed with as many digits as tell any two apart.
        self.assertEqual(result["losses"], self.expected["losses"])
        self.assertEqual(result["accuracy"], self.expected["accuracy"])
        self.assertEqual(result["backend"], self.expected["backend"])

    def test_gives_the_same_losses_as_in_process(self):
        self.assert_as_in_process(self.start_training())

    def test_two_clients_at_once_give_the_same_losses_as_one(self):
        trainings = [self.start_training() for _ in range(2)]
        for training in trainings:
            self.assert_as_in_process(training)

    def test_the_daemon_ends_well_afterwards(self):
        self.assert_as_in_process(self.start_training())
        self.assertEqual(self.daemon.stop(), 0, self.daemon.log())
        self.assertFalse(os.path.exists(self.daemon.socket_path))


if __name__ == "__main__":
    ACCELD = os.path.abspath(sys.argv.pop())
    TRAIN_DIGITS = os.path.abspath(sys.argv.pop())
    unittest_main.main()
