"""acceld under socket activation: systemd-socket-activate plays the socket unit, the test the service manager.

    socket_activation_test.py ACCELD ACCELCTL
"""

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

import unittest_main

CONFIG = "deploy/systemd/acceld.textproto"
TIMEOUT_S = 60

ACCELD = ""
ACCELCTL = ""


class SocketActivationTest(unittest.TestCase):
    def setUp(self):
        # TEST_TMPDIR is too long for the path of a socket.
        self.folder = tempfile.mkdtemp(prefix="acceld.", dir="/tmp")
        self.addCleanup(shutil.rmtree, self.folder)
        self.socket_path = os.path.join(self.folder, "api.sock")
        self.log_path = os.path.join(self.folder, "log")
        notify_path = os.path.join(self.folder, "notify.sock")
        self.notify = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.addCleanup(self.notify.close)
        self.notify.bind(notify_path)
        self.notify.settimeout(TIMEOUT_S)
        self.environment = {"PATH": "/usr/bin:/bin", "NOTIFY_SOCKET": notify_path}

    def start(self, *command):
        with open(self.log_path, "wb") as log:
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=self.environment
            )
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def start_activated(self):
        """acceld as systemd starts it: with the service's arguments, at the first connection."""
        process = self.start(
            "systemd-socket-activate",
            *("-E", "NOTIFY_SOCKET"),
            *("-l", self.socket_path),
            ACCELD,
            f"--config={os.path.abspath(CONFIG)}",
            "--drain_timeout=20s",
        )
        self.connect_when_listening(process).close()
        return process

    def connect_when_listening(self, process):
        deadline = time.monotonic() + TIMEOUT_S
        while True:
            connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            try:
                connection.connect(self.socket_path)
                return connection
            except OSError:
                connection.close()
            self.assertIsNone(process.poll(), self.log())
            self.assertLess(time.monotonic(), deadline, self.log())
            time.sleep(0.01)

    def log(self):
        with open(self.log_path, encoding="utf-8", errors="replace") as file:
            return file.read()

    def wait_for(self, assignment):
        """Receives notifications until one holds the line `assignment`."""
        while True:
            try:
                message = self.notify.recv(65536).decode()
            except TimeoutError:
                self.fail(f"No {assignment} within {TIMEOUT_S} s:\n{self.log()}")
            if assignment in message.splitlines():
                return

    def assert_healthy(self):
        health = subprocess.run(
            [ACCELCTL, "health", "--endpoint", f"unix:{self.socket_path}"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            timeout=TIMEOUT_S,
        )
        self.assertEqual(health.returncode, 0, f"{health.stdout}\n{self.log()}")

    def stop(self, process):
        process.send_signal(signal.SIGTERM)
        self.wait_for("STOPPING=1")
        self.assertEqual(process.wait(TIMEOUT_S), 0, self.log())

    def test_answers_on_the_inherited_socket_and_leaves_it(self):
        process = self.start_activated()
        self.wait_for("READY=1")
        self.assert_healthy()
        self.stop(process)
        self.assertTrue(os.path.exists(self.socket_path), "The socket is systemd's to remove.")

    def test_keeps_the_process_that_was_started(self):
        # Type=notify with NotifyAccess=main listens to that process alone.
        self.notify.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        process = self.start_activated()
        _, ancillary, _, _ = self.notify.recvmsg(65536, socket.CMSG_SPACE(12))
        credentials = ancillary[0][2]
        self.assertEqual(int.from_bytes(credentials[:4], sys.byteorder), process.pid)
        self.stop(process)

    def test_ready_means_that_it_answers(self):
        process = self.start(ACCELD, f"--socket={self.socket_path}")
        self.wait_for("READY=1")
        self.assert_healthy()
        self.stop(process)
        self.assertFalse(os.path.exists(self.socket_path), "Its own socket is the daemon's to remove.")


if __name__ == "__main__":
    ACCELCTL = os.path.abspath(sys.argv.pop())
    ACCELD = os.path.abspath(sys.argv.pop())
    unittest_main.main()
