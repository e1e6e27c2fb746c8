"""The demonstration of deploy/quickstart: one daemon, two processes that train on it at once.

    quickstart_demo.py FOLDER

FOLDER/bin holds acceld, accelctl and train_digits. Exits 0 only if both processes reach their accuracy, the
daemon drains, and no process or file of it is left.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

CLIENTS = 2
MIN_ACCURACY = 0.97
START_TIMEOUT_S = 30
# A minute is train_digits' own limit on an idle machine; here two share it.
TRAIN_TIMEOUT_S = 300
STOP_TIMEOUT_S = 30
SAMPLE_INTERVAL_S = 0.25


class DemoError(Exception):
    """Why the demonstration cannot go on."""


def step(text):
    print(f"\n== {text}", flush=True)


class Daemon:
    """acceld on a private socket in a folder of its own."""

    def __init__(self, bin_folder, folder):
        self._accelctl = os.path.join(bin_folder, "accelctl")
        self._log_path = os.path.join(folder, "acceld.log")
        self.run_folder = os.path.join(folder, "run")
        os.mkdir(self.run_folder)
        socket = os.path.join(self.run_folder, "acceld.sock")
        self.endpoint = "unix:" + socket
        with open(self._log_path, "wb") as log:
            self.process = subprocess.Popen(
                [os.path.join(bin_folder, "acceld"), f"--socket={socket}"],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )

    def log(self):
        with open(self._log_path, encoding="utf-8", errors="replace") as log:
            return log.read()

    def control(self, *arguments):
        """What `accelctl ARGUMENTS` does, with the endpoint added."""
        return subprocess.run(
            [self._accelctl, *arguments, "--endpoint", self.endpoint],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=START_TIMEOUT_S,
            check=False,
        )

    def wait_until_healthy(self):
        deadline = time.monotonic() + START_TIMEOUT_S
        while self.control("health").returncode != 0:
            if self.process.poll() is not None:
                raise DemoError(f"acceld ended with status {self.process.returncode}:\n{self.log()}")
            if time.monotonic() > deadline:
                raise DemoError(f"acceld is not healthy after {START_TIMEOUT_S} s:\n{self.log()}")
            time.sleep(0.05)

    def sessions(self):
        """The daemon's sessions response, or None where it does not answer."""
        answer = self.control("sessions", "--json")
        return json.loads(answer.stdout) if answer.returncode == 0 else None

    def stop(self):
        """Asks acceld to drain and returns its exit status."""
        self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            raise DemoError(f"acceld has not drained after {STOP_TIMEOUT_S} s:\n{self.log()}") from None


class Client:
    """A process that trains; its progress is shown line by line."""

    def __init__(self, bin_folder, number, endpoint):
        self.number = number
        self.process = subprocess.Popen(
            [os.path.join(bin_folder, "train_digits"), "--endpoint", endpoint, "--json"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.output = ""
        self._threads = [threading.Thread(target=self._show_progress), threading.Thread(target=self._keep_output)]
        for thread in self._threads:
            thread.start()

    def _show_progress(self):
        for line in self.process.stderr:
            print(f"client {self.number} | {line}", end="", flush=True)

    def _keep_output(self):
        self.output = self.process.stdout.read()

    def join(self):
        for thread in self._threads:
            thread.join()

    def failure(self):
        """Prints the result; returns why it is none, or None."""
        if self.process.returncode != 0:
            return f"client {self.number} ended with status {self.process.returncode}"
        try:
            result = json.loads(self.output)
            accuracy = float(result["accuracy"])
            images_per_second = float(result["images_per_second"])
            backend = result["backend"]
        except (ValueError, KeyError, TypeError):
            return f"client {self.number} printed no result but: {self.output!r}"
        print(
            f"client {self.number}: {accuracy:.2%} of the held out digits right, "
            f"{images_per_second:.0f} images a second on {backend}"
        )
        if accuracy < MIN_ACCURACY:
            return f"client {self.number} reached {accuracy:.2%}; {MIN_ACCURACY:.0%} is asked for"
        return None


class Usage:
    """What the sessions of each process used, from samples taken while they run."""

    def __init__(self):
        self._by_session = {}

    def add(self, response):
        for session in response.get("sessions", []):
            usage = self._by_session.setdefault(
                session["id"],
                {"pid": int(session.get("pid", 0)), "identity": session.get("identity", ""), "memory_bytes": 0},
            )
            # protobuf's JSON writes 64-bit numbers as strings and leaves zeros out.
            usage["memory_bytes"] = max(usage["memory_bytes"], int(session.get("memory_bytes", 0)))
            usage["device_time_us"] = int(session.get("device_time_us", 0))
            usage["ops"] = int(session.get("ops", 0))

    def table(self, number_of_pid):
        """Lines of a table, a row for each session of the processes in `number_of_pid`."""
        rows = sorted(
            (
                (number_of_pid[usage["pid"]], usage)
                for usage in self._by_session.values()
                if usage["pid"] in number_of_pid
            ),
            key=lambda row: row[0],
        )
        total_us = sum(usage["device_time_us"] for _, usage in rows) or 1
        lines = [f"{'who':<10}{'identity':<14}{'pid':>8}{'peak memory':>14}{'device time':>14}{'share':>8}{'ops':>10}"]
        for number, usage in rows:
            lines.append(
                f"{f'client {number}':<10}{usage['identity']:<14}{usage['pid']:>8}"
                f"{usage['memory_bytes'] / 2**20:>10.1f} MiB{usage['device_time_us'] / 1e6:>12.2f} s"
                f"{usage['device_time_us'] / total_us:>8.0%}{usage['ops']:>10}"
            )
        return lines


def train(daemon, bin_folder):
    """Runs the clients to their end; returns what went wrong."""
    clients = []
    usage = Usage()
    try:
        for number in range(1, CLIENTS + 1):
            clients.append(Client(bin_folder, number, daemon.endpoint))
        deadline = time.monotonic() + TRAIN_TIMEOUT_S
        while any(client.process.poll() is None for client in clients):
            if time.monotonic() > deadline:
                raise DemoError(f"the clients have not ended after {TRAIN_TIMEOUT_S} s")
            usage.add(daemon.sessions() or {})
            time.sleep(SAMPLE_INTERVAL_S)
    finally:
        for client in clients:
            client.process.kill()
            client.process.wait()
            client.join()

    step("Results")
    failures = [failure for failure in map(Client.failure, clients) if failure]
    step("Who used how much (sampled while they ran)")
    table = usage.table({client.process.pid: client.number for client in clients})
    print("\n".join(table))
    if len(table) != CLIENTS + 1:
        failures.append(f"the daemon showed {len(table) - 1} sessions of the {CLIENTS} clients")
    return failures


def wait_until_unused(daemon):
    """Returns what the daemon still holds once its clients are gone, or None."""
    deadline = time.monotonic() + STOP_TIMEOUT_S
    while daemon.process.poll() is None:
        response = daemon.sessions() or {}
        left = int(response.get("session_count", 0)), int(response.get("live_bytes", 0))
        if response and left == (0, 0):
            return None
        if time.monotonic() > deadline:
            return f"the daemon still holds {left[0]} sessions and {left[1]} bytes"
        time.sleep(0.05)
    return "the daemon did not wait to be stopped"


def processes_from(folder):
    """The pids of processes whose program lies in `folder`."""
    pids = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            program = os.readlink(f"/proc/{pid}/exe")
        except OSError:
            continue  # It ended meanwhile, or is another user's.
        if program.startswith(folder + os.sep):
            pids.append(int(pid))
    return pids


def run(root):
    """The demonstration; returns what went wrong."""
    root = os.path.realpath(root)
    bin_folder = os.path.join(root, "bin")
    folder = tempfile.mkdtemp(prefix="demo.", dir=root)
    daemon = None
    try:
        step("Starting acceld")
        daemon = Daemon(bin_folder, folder)
        daemon.wait_until_healthy()
        print(f"pid {daemon.process.pid} answers on {daemon.endpoint}")

        step(f"Training from {CLIENTS} processes at once")
        failures = train(daemon, bin_folder)

        step("Stopping acceld")
        left = wait_until_unused(daemon)
        if left:
            failures.append(left)
        status = daemon.stop()
        if status != 0:
            failures.append(f"acceld ended with status {status}:\n{daemon.log()}")
        files = os.listdir(daemon.run_folder)
        if files:
            failures.append(f"acceld left {', '.join(sorted(files))}")
        processes = processes_from(root)
        if processes:
            failures.append(f"processes are left: {processes}")
        if not failures:
            print("It drained and left no process and no file.")
        return failures
    finally:
        if daemon is not None and daemon.process.poll() is None:
            daemon.process.kill()
            daemon.process.wait()
        shutil.rmtree(folder)


def main(arguments):
    if len(arguments) != 1:
        print("quickstart_demo: Give the folder whose bin holds the programs.", file=sys.stderr)
        return 2
    # The same clean-up as after Ctrl-C.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        failures = run(arguments[0])
    except (DemoError, OSError, subprocess.TimeoutExpired) as error:
        failures = [str(error)]
    except KeyboardInterrupt:
        failures = ["it was interrupted"]
    print()
    for failure in failures:
        print(f"quickstart: Failed: {failure}", file=sys.stderr)
    if not failures:
        print("quickstart: Both clients trained on one device.")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
