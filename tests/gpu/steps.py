"""The steps: what each runs, for how long at most, and what its output says."""

import os
import re
import signal
import subprocess
import tempfile
import threading
import time
from typing import NamedTuple

import report

# From the start of the script to the end of the steps; what a step does not use is there for those behind it.
# The rest of the 8 minutes is for unpacking, and for programs that do not end at once when they are killed.
TOTAL_S = 450
# A program that is killed is waited for so long; one that hangs in the driver does not end.
GRACE_S = 5
# The benchmark ends by itself so long before it would be killed.
BENCH_MARGIN_S = 10

KERNELS = "AttentionTest.*:ReduceTest.*:SoftmaxTest.*"
# Each kernel of acceld's own, and what the device does with memory.
MEMORY = KERNELS + (
    ":BinaryTest.*:CopyDtoDTest.*:GatherTest.*:GemmMixedPrecisionTest.*:MemoryTest.*:MemsetTest.*:ProgramTest.*"
    ":ScatterTest.*:UnaryTest.*"
)
QUICK = "SoftmaxTest.*"
# What compute-sanitizer returns where the program is well and it has found something.
SANITIZER_FOUND = 86


class Step(NamedTuple):
    name: str
    what: str
    limit_s: int
    # "cases", "figures" or "selftest".
    kind: str
    # From the root; with compute-sanitizer's tool in front where there is one.
    program: str
    tool: str = ""
    cases: str = "*"


_SUITE = "tests/conformance/"
STEPS = [
    Step("selftest", "accelctl selftest of a daemon with the card", 20, "selftest", "server/acceld"),
    Step("in_process", "the conformance suite, in process", 65, "cases", _SUITE + "cuda_in_process"),
    Step("shm", "the conformance suite, through a daemon and shared memory", 65, "cases", _SUITE + "cuda_shm"),
    Step("bench", "the figures", 165, "figures", "tests/bench/cuda/bench"),
    Step(
        "memcheck",
        "compute-sanitizer's memcheck on part of the suite",
        55,
        "cases",
        _SUITE + "cuda_in_process",
        tool="memcheck",
        cases=MEMORY,
    ),
    Step(
        "racecheck",
        "compute-sanitizer's racecheck on kernels with shared memory",
        40,
        "cases",
        _SUITE + "cuda_in_process",
        tool="racecheck",
        cases=KERNELS,
    ),
    Step("tcp", "the conformance suite, through a daemon and TCP", 40, "cases", _SUITE + "cuda_frames_tcp"),
]


class Runner:
    """Runs steps in the unpacked folder `root`; logs go to `out`."""

    def __init__(self, root, out, environment, sanitizer, quick):
        self._root = root
        self._out = out
        self._environment = environment
        self._sanitizer = sanitizer
        self._quick = quick
        # Those of the benchmark, as report.figures reads them.
        self.figures = []

    def run_all(self, steps, deadline):
        """Runs them one by one, until `deadline` of time.monotonic(); what came of each, for the report."""
        results = []
        for i, step in enumerate(steps):
            reserved = sum(later.limit_s for later in steps[i + 1 :])
            limit_s = max(step.limit_s, int(deadline - time.monotonic()) - reserved)
            limit_s = min(limit_s, max(1, int(deadline - time.monotonic())))
            say(f"\n[{i + 1}/{len(steps)}] {step.name}: {step.what} (at most {limit_s} s)")
            started = time.monotonic()
            result = self.run(step, limit_s)
            result.update(name=step.name, seconds=round(time.monotonic() - started, 1))
            for problem in result["problems"]:
                say(f"  {problem}")
            say("  " + report.summary(result) + f" in {result['seconds']} s")
            results.append(result)
        return results

    def run(self, step, limit_s):
        """Runs one; its counts and problems."""
        if step.tool and not self._sanitizer:
            return {**report.NOTHING, "skipped": 1, "problems": ["Skipped: compute-sanitizer is not there."]}
        try:
            if step.kind == "selftest":
                return self._selftest(limit_s)
            if step.kind == "figures":
                return self._measure(step, limit_s)
            return self._test(step, limit_s)
        except OSError as error:
            return failure(f"It cannot be run: {error}.")

    def _test(self, step, limit_s):
        cases = QUICK if self._quick else step.cases
        command = [os.path.join(self._root, step.program), f"--gtest_filter={cases}", "--gtest_color=no"]
        if step.tool:
            # Tests make calls of CUDA fail on purpose.
            command = [
                self._sanitizer,
                f"--tool={step.tool}",
                f"--error-exitcode={SANITIZER_FOUND}",
                "--report-api-errors=no",
                "--print-limit=20",
            ] + command
        log, status = self._execute(step.name, command, limit_s)
        if status is None and step.tool and not report.sanitizer_findings(log):
            # Kernels run many times slower under it, by how much only a card tells.
            result = report.cases(log, cut_short=True)
            result["skipped"] += 1
            result["problems"].append(f"Skipped: the rest, since it was not done after {limit_s} s.")
            return result
        result = report.cases(log)
        if status is None:
            result["failed"] += 1
            result["problems"].append(f"It was not done after {limit_s} s.")
        elif step.tool and (status == SANITIZER_FOUND or report.sanitizer_errors(log) != 0):
            result["failed"] += 1
            result["problems"].append(f"compute-sanitizer found something, or did not run; see {step.name}.log.")
        elif status != 0 and result["failed"] == 0:
            result["failed"] += 1
            result["problems"].append(f"It ended with status {status}: {report.last_line(log)}")
        return result

    def _measure(self, step, limit_s):
        json_path = os.path.join(self._out, "bench.json")
        command = [os.path.join(self._root, step.program), f"--json={json_path}"]
        command.append(f"--total_limit={max(1, limit_s - BENCH_MARGIN_S)}s")
        if self._quick:
            command.append("--quick")
        log, status = self._execute(step.name, command, limit_s, show=re.compile(r"\S+ \S+ \S+\n"))
        self.figures = report.figures(log)
        failed = [figure for figure in self.figures if "value" not in figure]
        result = {
            "passed": len(self.figures) - len(failed),
            "failed": len(failed),
            "skipped": 0,
            "problems": [f"{figure['name']}: {figure['problem']}" for figure in failed],
        }
        if status is None:
            result["failed"] += 1
            result["problems"].append(f"It was not done after {limit_s} s.")
        elif status != 0 and not failed:
            result["failed"] += 1
            result["problems"].append(f"It ended with status {status}: {report.last_line(log)}")
        return result

    def _selftest(self, limit_s):
        with tempfile.TemporaryDirectory(prefix="acceld.", dir="/tmp") as folder:
            endpoint = f"unix:{folder}/s"
            with open(os.path.join(self._out, "acceld.log"), "wb") as log:
                daemon = subprocess.Popen(
                    [
                        os.path.join(self._root, "server/acceld"),
                        f"--socket={folder}/s",
                        "--plugin_folder=backends/cuda",
                    ],
                    cwd=self._root,
                    env=self._environment,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=log,
                    start_new_session=True,
                )
            timer = threading.Timer(limit_s, kill_group, [daemon])
            timer.start()
            try:
                if not daemon.stdout.readline().startswith(b"listening on "):
                    return failure("acceld does not start; see acceld.log.")
                accelctl = [os.path.join(self._root, "client/accelctl"), f"--endpoint={endpoint}"]
                self._execute("info", accelctl + ["info"], limit_s)
                log, status = self._execute(
                    "selftest", accelctl + ["--timeout=20s", "selftest", "--kind=cuda", "--device=0"], limit_s
                )
            finally:
                timer.cancel()
                kill_group(daemon)
        counts = re.search(r"(\d+) ok, (\d+) wrong, (\d+) failed, (\d+) unsupported", log)
        if not counts:
            return failure(report.last_line(log) or f"accelctl ended with status {status}.")
        right, wrong, failed, unsupported = map(int, counts.groups())
        problems = ["An op is wrong or fails; see selftest.log."] if wrong + failed else []
        return {"passed": right, "failed": wrong + failed, "skipped": unsupported, "problems": problems}

    def _execute(self, name, command, limit_s, show=None):
        """What a command prints, which goes to a log as well, and its exit status, None where it was killed.
        Lines that match `show` are shown as they come."""
        path = os.path.join(self._out, f"{name}.log")
        lines = []
        with open(path, "w", encoding="utf-8") as log:

            def read():
                for line in process.stdout:
                    log.write(line)
                    log.flush()
                    lines.append(line)
                    if show and show.fullmatch(line):
                        say("  " + line.rstrip())

            reader = threading.Thread(target=read, daemon=True)
            process = subprocess.Popen(
                command,
                cwd=self._root,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                encoding="utf-8",
                errors="replace",
                start_new_session=True,
            )
            # Nothing in between, where this script may be told to end.
            try:
                reader.start()
                reader.join(limit_s)
                status = None if reader.is_alive() else process.wait(GRACE_S)
            except subprocess.TimeoutExpired:
                status = None
            finally:
                # Also where this script is told to end.
                kill_group(process)
                if reader.is_alive():
                    reader.join(GRACE_S)
            return "".join(lines), status


def say(text):
    print(text, flush=True)


def failure(problem):
    return {**report.NOTHING, "failed": 1, "problems": [problem]}


def kill_group(process):
    """Kills a process that leads a group, with all that it started."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    try:
        process.wait(GRACE_S)
    except subprocess.TimeoutExpired:
        pass
