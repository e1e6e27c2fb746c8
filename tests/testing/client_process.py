"""client_program.py as a process that a test can end in every way."""

import contextlib
import os
import signal
import subprocess
import sys

import daemon

PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "client_program.py")


class ClientProcess:
    """Ready when the constructor returns."""

    def __init__(self, endpoint, activity, *options):
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-B", PROGRAM, endpoint, activity, *options],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            preexec_fn=daemon.die_with_parent,
        )
        self._child = 0
        line = self._process.stdout.readline().split()
        if line[:1] != [b"ready"]:
            self.close()
            raise RuntimeError(f"The client does not become ready: {line}")
        self._child = int(line[1])

    @property
    def pid(self):
        return self._process.pid

    def child_is_alive(self):
        try:
            os.kill(self._child, 0)
        except ProcessLookupError:
            return False
        return True

    def end_child(self):
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._child, signal.SIGKILL)

    def signal(self, number):
        self._process.send_signal(number)

    def kill(self):
        """Kills the process, not its forked child."""
        self._process.kill()
        self._process.wait()

    def end(self):
        """Lets it come to its end; returns its exit code."""
        self._process.stdin.close()
        return self._process.wait(daemon.TIMEOUT_S)

    def close(self):
        self.kill()
        if self._child:
            self.end_child()
        self._process.stdin.close()
        self._process.stdout.close()
