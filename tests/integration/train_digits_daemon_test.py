"""train_digits through a daemon: what it gives is what it gives in its own process, bit for bit.

    train_digits_daemon_test.py TRAIN_DIGITS
"""

import os
import sys
import unittest

import train_digits_program
import unittest_main
from daemon import Daemon

TRAIN_DIGITS = ""


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
            TRAIN_DIGITS, f"--endpoint={self.daemon.unix_endpoint}", "--json"
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
    TRAIN_DIGITS = os.path.abspath(sys.argv.pop())
    unittest_main.main()
