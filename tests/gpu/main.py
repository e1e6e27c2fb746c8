"""tests/gpu/run: the steps, one after the other, and the table. Python's standard library only."""

import argparse
import datetime
import json
import os
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import time

import host
import report
import steps

USAGE = """\
Usage: tests/gpu/run [--only STEP[,STEP...]] [--out FOLDER] [--json FILE] [--quick]

Tests and measures acceld on this machine's first NVIDIA card, or that of CUDA_VISIBLE_DEVICES, in less than 8
minutes, and prints a table of what was measured and which targets are reached. It runs in the unpacked folder
that tests/gpu/pack made; in a checkout it unpacks out/acceld_gpu.tar.xz into a temporary folder and runs that.
It needs NVIDIA's driver, cuBLAS and cuDNN, and says where it looked for what is missing; nothing is installed.
Without compute-sanitizer, the steps that need it are skipped; so is the rest of one whose tool ran out of time
and had found nothing.

The last line is "N passed, N failed" (", N skipped" follows where there are any): test cases, figures that
were measured or could not be, and steps that were skipped. A target that is not reached is shown in the table
and is no failure. Exit status 0 only if something passed and nothing failed, 2 where an option is wrong.

  --only STEP    only these steps, of:
{steps}
  --out FOLDER   where the full logs, report.txt and report.json go; out/gpu in the checkout or the unpacked
                 folder by default
  --json FILE    also writes the report as JSON there
  --quick        a few cases and tiny rounds, which show whether it works; the figures mean nothing
  --help         this text
"""

# tests/gpu in the checkout or the unpacked folder.
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
MANIFEST = "manifest.json"
PACK = "out/acceld_gpu.tar.xz"


def usage():
    return USAGE.format(steps="\n".join(f"                 {step.name:<12} {step.what}" for step in steps.STEPS))


class Parser(argparse.ArgumentParser):
    """With the usage above, and mistakes in one line."""

    def format_help(self):
        return usage()

    def error(self, message):
        print(f"tests/gpu/run: {message[0].upper()}{message[1:]}; --help lists the options.", file=sys.stderr)
        sys.exit(2)


def parse(arguments):
    parser = Parser(allow_abbrev=False)
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--out", default=os.path.join(ROOT, "out", "gpu"))
    parser.add_argument("--json")
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args(arguments)
    names = [name for names in options.only for name in names.split(",")]
    for name in names:
        if name not in [step.name for step in steps.STEPS]:
            parser.error(f"there is no step {name}")
    options.steps = [step for step in steps.STEPS if not names or step.name in names]
    options.out = os.path.abspath(options.out)
    if options.json:
        options.json = os.path.abspath(options.json)
    return options


def fail(message):
    print(f"tests/gpu/run: {message}", file=sys.stderr)
    return 1


def run_packed(options):
    """Unpacks the checkout's pack, and runs what is in it."""
    pack = os.path.join(ROOT, PACK)
    if not os.path.exists(pack):
        return fail(f"There is no {PACK}; tests/gpu/pack makes it where Bazel and a CUDA toolkit are.")
    folder = tempfile.mkdtemp(prefix="acceld_gpu.")
    try:
        print(f"Unpacking {PACK} to {folder}.", flush=True)
        with tarfile.open(pack) as archive:
            archive.extractall(folder)
        command = [os.path.join(folder, "acceld_gpu", "tests", "gpu", "run"), f"--out={options.out}"]
        command += [f"--only={step.name}" for step in options.steps]
        if options.json:
            command.append(f"--json={options.json}")
        if options.quick:
            command.append("--quick")
        with subprocess.Popen(command) as running:
            try:
                return running.wait()
            finally:
                running.terminate()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def look_around(manifest):
    """What this machine has; says what is missing, and where it was looked for."""
    found = host.look_around(manifest)
    for line in found.problems:
        print(f"MISSING: {line}", flush=True)
    if found.sanitizer:
        print(f"compute-sanitizer: {found.sanitizer}", flush=True)
    return found


def main(arguments):
    started = time.monotonic()
    options = parse(arguments)
    # So that what runs is ended, too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    manifest_path = os.path.join(ROOT, MANIFEST)
    if not os.path.exists(manifest_path):
        return run_packed(options)
    with open(manifest_path, encoding="utf-8") as file:
        manifest = json.load(file)

    host.choose_card()
    found = look_around(manifest)
    if found.card is None:
        return fail("There is no card to run on.")
    environment, problem = host.choose_environment(ROOT, found.library_folders)
    if environment is None:
        return fail(f"The programs cannot start here: {problem} They need glibc {manifest['glibc']} or later.")

    try:
        os.makedirs(options.out, exist_ok=True)
    except OSError as error:
        return fail(f"The folder for the logs cannot be made: {error}; see --out.")
    run = {
        "date": datetime.datetime.now().astimezone().isoformat(timespec="seconds"),
        "card": found.card._asdict(),
        "build": manifest,
        "quick": options.quick,
    }
    print(report.heading(run), flush=True)
    runner = steps.Runner(ROOT, options.out, environment, found.sanitizer, options.quick)
    run["steps"] = runner.run_all(options.steps, started + steps.TOTAL_S)
    run["figures"] = report.judge(runner.figures)
    text = report.text(run)
    print("\n" + text, end="", flush=True)

    as_json = json.dumps(run, indent=2) + "\n"
    files = {os.path.join(options.out, "report.txt"): text, os.path.join(options.out, "report.json"): as_json}
    if options.json:
        files[options.json] = as_json
    for path, content in files.items():
        try:
            with open(path, "w", encoding="utf-8") as file:
                file.write(content)
        except OSError as error:
            return fail(f"The report cannot be written: {error}.")
    counts = report.counts(run)
    return 0 if counts["failed"] == 0 and counts["passed"] > 0 else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
