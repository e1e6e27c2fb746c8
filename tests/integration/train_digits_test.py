"""train_digits in its own process, and its command line.

    train_digits_test.py TRAIN_DIGITS
"""

import os
import re
import sys
import unittest

import train_digits_program
import unittest_main

TRAIN_DIGITS = ""

PROGRESS = re.compile(r"^epoch +(\d+)  loss \d+\.\d+  held-out accuracy \d+\.\d+ %  \d+ images/s$")


class TrainingTest(unittest.TestCase):
    """What one full run prints."""

    @classmethod
    def setUpClass(cls):
        cls.exit_code, cls.training = train_digits_program.run(TRAIN_DIGITS, "--in-process", "--json")

    def test_reaches_the_required_accuracy(self):
        self.assertEqual(self.exit_code, 0, self.training.stderr)
        accuracy = self.training.result()["accuracy"]
        self.assertGreaterEqual(accuracy, train_digits_program.REQUIRED_ACCURACY)
        self.assertLessEqual(accuracy, 1)

    def test_measures_on_360_images(self):
        hits = self.training.result()["accuracy"] * 360
        self.assertAlmostEqual(hits, round(hits), places=6)

    def test_prints_exactly_one_object_on_stdout(self):
        result = self.training.result()
        self.assertEqual(
            list(result), ["accuracy", "losses", "images_per_second", "backend"], self.training.stdout
        )
        self.assertEqual(result["backend"], "cpu")
        self.assertGreater(result["images_per_second"], 0)

    def test_the_loss_falls(self):
        losses = self.training.result()["losses"]
        self.assertEqual(len(losses), train_digits_program.DEFAULT_EPOCHS)
        # The first is a mean over the epoch, so already below log(10), which is guessing.
        self.assertLess(losses[0], 2.3)
        self.assertGreater(losses[-1], 0)
        self.assertLess(losses[-1], losses[0] / 5)

    def test_prints_a_line_per_epoch_on_stderr(self):
        lines = self.training.stderr.splitlines()
        epochs = [int(match[1]) for match in map(PROGRESS.match, lines) if match]
        self.assertEqual(len(lines), len(epochs), self.training.stderr)
        self.assertEqual(epochs, list(range(1, train_digits_program.DEFAULT_EPOCHS + 1)))

    def test_gives_the_same_losses_again(self):
        _, again = train_digits_program.run(TRAIN_DIGITS, "--in-process", "--json", "--epochs=2")
        self.assertEqual(again.result()["losses"], self.training.result()["losses"][:2])


class CommandLineTest(unittest.TestCase):
    def run_program(self, *arguments):
        return train_digits_program.run(TRAIN_DIGITS, *arguments)

    def assert_usage_error(self, message, *arguments):
        exit_code, training = self.run_program(*arguments)
        self.assertEqual(exit_code, 2, training.stderr)
        self.assertEqual(training.stdout, "")
        self.assertEqual(training.stderr, f"train_digits: {message}\n")

    def test_help_shows_every_flag(self):
        exit_code, training = self.run_program("--help")
        self.assertEqual(exit_code, 0)
        for flag in ("--endpoint", "--in-process", "--epochs", "--json"):
            self.assertIn(flag, training.stdout)
        self.assertEqual(training.stderr, "")

    def test_too_little_training_fails(self):
        exit_code, training = self.run_program("--in_process", "--epochs", "1")
        self.assertEqual(exit_code, 1)
        self.assertEqual(training.stdout, "")
        self.assertRegex(
            training.stderr.splitlines()[-1],
            r"^train_digits: The held-out accuracy is \d+\.\d+ %, below the required 97 %\.$",
        )

    def test_refuses_an_unknown_flag(self):
        self.assert_usage_error("Flag --epoch is unknown; --help shows the flags.", "--epoch=3")

    def test_refuses_an_unknown_negated_flag(self):
        self.assert_usage_error("Flag --noepochs is unknown; --help shows the flags.", "--noepochs")

    def test_refuses_a_value_of_another_type(self):
        self.assert_usage_error('Flag --epochs cannot be "many".', "--epochs=many")
        self.assert_usage_error('Flag --in-process cannot be "perhaps".', "--in-process=perhaps")

    def test_refuses_a_flag_without_its_value(self):
        self.assert_usage_error("Flag --epochs has no value.", "--in-process", "--epochs")

    def test_refuses_epochs_out_of_range(self):
        for epochs in (-1, 0, 1001):
            self.assert_usage_error(
                f"Flag --epochs is {epochs}, outside 1 to 1000.", f"--epochs={epochs}"
            )

    def test_refuses_an_argument_that_is_no_flag(self):
        for argument in ("train", "", "--", "-h"):
            self.assert_usage_error(
                f'Argument "{argument}" is no flag; --help shows the flags.', argument
            )

    def test_refuses_two_ways_at_once(self):
        self.assert_usage_error(
            "Flags --endpoint and --in-process exclude each other.",
            "--in-process",
            "--endpoint=unix:/run/acceld/acceld.sock",
        )

    def test_refuses_an_endpoint_of_no_known_form(self):
        exit_code, training = self.run_program("--endpoint=carrier-pigeon")
        self.assertEqual(exit_code, 2, training.stderr)
        self.assertEqual(training.stdout, "")
        self.assertRegex(training.stderr, r"^train_digits: [^\n]*carrier-pigeon[^\n]*\n$")

    def test_fails_where_no_daemon_answers(self):
        exit_code, training = self.run_program("--endpoint=unix:/nonexistent/acceld.sock", "--json")
        self.assertEqual(exit_code, 1, training.stderr)
        self.assertEqual(training.stdout, "")
        self.assertRegex(training.stderr, r"^train_digits: [^\n]*/nonexistent/acceld\.sock")


if __name__ == "__main__":
    TRAIN_DIGITS = os.path.abspath(sys.argv.pop())
    unittest_main.main()
