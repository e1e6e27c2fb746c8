"""An acceld for a test, in a process of its own and a folder of its own.

    with Daemon("--drain_timeout=1s", config="limits { max_streams: 4 }") as daemon:
        daemon.unix_endpoint  # unix:/tmp/acceld.1a2b3c/s
        daemon.tcp_endpoint   # 127.0.0.1:40000

The program is $(location //server:acceld), which has to be among the test's data.
"""

import ctypes
import os
import select
import shutil
import signal
import subprocess
import tempfile
import time

ACCELD = os.path.abspath("server/acceld")
TIMEOUT_S = 60

_LISTENING = "listening on "

# Under AddressSanitizer, memory that the daemon has freed is soon used again, as in other builds, so that
# its size says something.
_ENVIRONMENT = {"PATH": "/usr/bin:/bin", "ASAN_OPTIONS": "quarantine_size_mb=8"}
_PR_SET_PDEATHSIG = 1
_LIBC = ctypes.CDLL(None, use_errno=True)


def die_with_parent():
    """For Popen's preexec_fn: the process must not outlive a test that crashes."""
    _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def make_folder():
    """An empty folder; TEST_TMPDIR is too long for the path of a socket."""
    return tempfile.mkdtemp(prefix="acceld.", dir="/tmp")


def run_to_end(*flags):
    """Runs an acceld that is expected to refuse to start; returns the CompletedProcess."""
    return subprocess.run(
        [ACCELD, *flags],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        env={"PATH": "/usr/bin:/bin"},
        timeout=TIMEOUT_S,
        check=False,
        preexec_fn=die_with_parent,
    )


class Daemon:
    """Listens on a Unix socket and on loopback TCP. Ready when the constructor returns."""

    def __init__(self, *flags, config=None, folder=None, program=ACCELD, environment=None):
        """`config` is the text of a configuration file; `folder` is an existing one, kept afterwards; what
        `environment` has is added to the daemon's."""
        self._owns_folder = folder is None
        self.folder = folder or make_folder()
        self.socket_path = os.path.join(self.folder, "s")
        self.unix_endpoint = ""
        self.tcp_endpoint = ""
        self._log_path = os.path.join(self.folder, "log")
        if config is not None:
            config_path = os.path.join(self.folder, "config")
            with open(config_path, "w", encoding="utf-8") as file:
                file.write(config)
            flags = (f"--config={config_path}", *flags)
        with open(self._log_path, "ab") as log:
            self._process = subprocess.Popen(
                [program, f"--socket={self.socket_path}", "--listen=127.0.0.1:0", *flags],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
                env={**_ENVIRONMENT, **(environment or {})},
                preexec_fn=die_with_parent,
            )
        try:
            self._read_endpoints()
        except BaseException:
            self.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.close()

    def _read_endpoints(self):
        deadline = time.monotonic() + TIMEOUT_S
        output = b""
        while not (self.unix_endpoint and self.tcp_endpoint):
            left = max(0, deadline - time.monotonic())
            readable, _, _ = select.select([self._process.stdout], [], [], left)
            chunk = os.read(self._process.stdout.fileno(), 65536) if readable else b""
            if not chunk:
                raise RuntimeError(f"The daemon does not become ready:\n{self.log()}")
            output += chunk
            for line in output.decode().split("\n")[:-1]:
                endpoint = line.removeprefix(_LISTENING)
                if endpoint.startswith("unix:"):
                    self.unix_endpoint = endpoint
                else:
                    self.tcp_endpoint = endpoint

    @property
    def pid(self):
        return self._process.pid

    def is_alive(self):
        return self._process.poll() is None

    def log(self):
        with open(self._log_path, encoding="utf-8", errors="replace") as file:
            return file.read()

    def rss_bytes(self):
        """Memory that the process has in RAM."""
        with open(f"/proc/{self.pid}/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    def descriptor_count(self):
        return len(os.listdir(f"/proc/{self.pid}/fd"))

    def thread_count(self):
        return len(os.listdir(f"/proc/{self.pid}/task"))

    def signal(self, number):
        self._process.send_signal(number)

    def wait(self, timeout_s=TIMEOUT_S):
        """Waits for its end; returns its exit code, negative where a signal ended it."""
        return self._process.wait(timeout_s)

    def stop(self):
        """Asks it to end; returns its exit code."""
        self.signal(signal.SIGTERM)
        return self.wait()

    def close(self):
        self._process.kill()
        self._process.wait()
        self._process.stdout.close()
        if self._owns_folder:
            shutil.rmtree(self.folder)
