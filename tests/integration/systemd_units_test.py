"""The systemd units are valid and keep what their comments promise. systemd itself need not run.

    systemd_units_test.py ACCELD
"""

import configparser
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

import unittest_main

UNITS = "deploy/systemd"
# In tenths, as systemd-analyze counts: from 0 (safe) to 100.
MAX_EXPOSURE = 15
MAX_EXPOSURE_WITH_TCP = 20

ACCELD = ""


class Unit(configparser.RawConfigParser):
    """A unit file, whose keys occur once; each_of() is for others."""

    def __init__(self, name):
        super().__init__(strict=False, comment_prefixes=("#", ";"), delimiters=("=",))
        self.optionxform = str
        with open(os.path.join(UNITS, name), encoding="utf-8") as file:
            self._text = file.read()
        self.read_string(self._text)

    def each_of(self, key):
        """Those of a key that occurs several times, in their order."""
        return [line.partition("=")[2] for line in self._text.split("\n") if line.startswith(f"{key}=")]


def seconds(text):
    if not text.endswith("s"):
        raise ValueError(f"{text} is not given in seconds")
    return int(text[:-1])


class SystemdUnitsTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def install(self, program, with_tcp=False):
        """Copies the units into a folder, with `program` in place of /usr/bin/acceld; returns their paths."""
        paths = []
        for name in ("acceld.service", "acceld.socket"):
            with open(os.path.join(UNITS, name), encoding="utf-8") as file:
                text = file.read()
            path = os.path.join(self.folder, name)
            with open(path, "w", encoding="utf-8") as file:
                file.write(text.replace("ExecStart=/usr/bin/acceld", f"ExecStart={program}"))
            paths.append(path)
        if with_tcp:
            drop_ins = os.path.join(self.folder, "acceld.service.d")
            os.mkdir(drop_ins)
            shutil.copy(os.path.join(UNITS, "acceld-tcp.conf"), os.path.join(drop_ins, "tcp.conf"))
        return paths

    def analyze(self, *arguments):
        return subprocess.run(
            ["systemd-analyze", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            timeout=60,
        )

    def verify(self, paths):
        return self.analyze("verify", "--man=no", "--recursive-errors=no", *paths)

    def test_the_units_are_valid(self):
        result = self.verify(self.install(ACCELD))
        self.assertEqual((result.returncode, result.stdout), (0, ""))

    def test_the_units_with_tcp_are_valid(self):
        result = self.verify(self.install(ACCELD, with_tcp=True))
        self.assertEqual((result.returncode, result.stdout), (0, ""))

    def test_a_service_without_its_program_is_not_valid(self):
        result = self.verify(self.install(os.path.join(self.folder, "absent")))
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("absent", result.stdout)

    def exposure_is_at_most(self, limit, with_tcp):
        service, _ = self.install(ACCELD, with_tcp)
        result = self.analyze("security", "--offline=yes", f"--threshold={limit}", service)
        self.assertEqual(result.returncode, 0, result.stdout)

    def test_the_service_is_hardened(self):
        self.exposure_is_at_most(MAX_EXPOSURE, with_tcp=False)

    def test_the_service_with_tcp_is_hardened(self):
        self.exposure_is_at_most(MAX_EXPOSURE_WITH_TCP, with_tcp=True)

    def test_tcp_is_forbidden_without_its_drop_in(self):
        service = Unit("acceld.service")["Service"]
        self.assertEqual(service["RestrictAddressFamilies"], "AF_UNIX")
        self.assertEqual(service["IPAddressDeny"], "any")
        self.assertNotIn("--listen", service["ExecStart"])

    def test_tcp_is_allowed_on_loopback_only(self):
        drop_in = Unit("acceld-tcp.conf")["Service"]
        self.assertEqual(drop_in["IPAddressAllow"], "localhost")

    def test_a_drain_ends_before_systemd_kills(self):
        service = Unit("acceld.service")["Service"]
        drain = service["ExecStart"].partition("--drain_timeout=")[2].split()[0]
        self.assertLess(seconds(drain), seconds(service["TimeoutStopSec"]))

    def test_wrong_flags_end_with_the_status_that_is_not_restarted(self):
        status = subprocess.run(
            [ACCELD, "--no_such_flag"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            check=False,
            timeout=60,
        ).returncode
        self.assertEqual(str(status), Unit("acceld.service")["Service"]["RestartPreventExitStatus"])

    def test_cuda_s_nodes_are_made_first_and_need_not_be_there(self):
        unit = Unit("acceld.service")
        self.assertEqual(unit["Unit"]["Wants"], "modprobe@nvidia_uvm.service")
        self.assertIn("modprobe@nvidia_uvm.service", unit["Unit"]["After"].split())
        self.assertNotIn("nvidia", unit["Unit"]["Requires"])
        # With -u it makes those of CUDA's memory and no others.
        modprobe = "-+/usr/bin/nvidia-modprobe"
        self.assertEqual(unit.each_of("ExecStartPre"), [f"{modprobe} -c 255 -c 0", f"{modprobe} -c 0 -u"])

    def test_a_lost_device_restarts_the_service(self):
        unit = Unit("acceld.service")
        self.assertEqual(unit["Unit"]["StartLimitIntervalSec"], "0")
        service = unit["Service"]
        self.assertEqual(service["Restart"], "on-failure")
        self.assertNotIn("SuccessExitStatus", service)
        self.assertNotIn("3", service["RestartPreventExitStatus"].split())

    def test_the_user_of_the_service_is_made(self):
        service = Unit("acceld.service")["Service"]
        result = subprocess.run(
            ["systemd-sysusers", "--dry-run", os.path.abspath(os.path.join(UNITS, "acceld.sysusers"))],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        self.assertEqual(result.returncode, 0, result.stderr)
        with open(os.path.join(UNITS, "acceld.sysusers"), encoding="utf-8") as file:
            self.assertIn(f"u {service['User']} ", file.read())


if __name__ == "__main__":
    ACCELD = os.path.abspath(sys.argv.pop())
    unittest_main.main()
