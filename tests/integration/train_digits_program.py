"""How the tests run train_digits."""

import json
import subprocess

# Far above what it takes, also where the processors are shared.
TIMEOUT_S = 600

REQUIRED_ACCURACY = 0.97
DEFAULT_EPOCHS = 15


class TrainDigits:
    """One run, started at once."""

    def __init__(self, program, *arguments):
        self._process = subprocess.Popen(
            [program, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            # No ACCELD_ENDPOINT, nor the socket of a user's daemon.
            env={"PATH": "/usr/bin:/bin"},
        )
        self.stdout = ""
        self.stderr = ""

    def kill(self):
        self._process.kill()
        self._process.communicate()

    def wait(self):
        """Waits for its end and returns its exit code; stdout and stderr are then set."""
        try:
            self.stdout, self.stderr = self._process.communicate(timeout=TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self.kill()
            raise
        return self._process.returncode

    def result(self):
        """What --json printed, which is all of stdout."""
        return json.loads(self.stdout)


def run(program, *arguments):
    training = TrainDigits(program, *arguments)
    exit_code = training.wait()
    return exit_code, training
