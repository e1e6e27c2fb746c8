"""The daemon loses a device: what it tells, what it still finishes, how it ends, and how it starts again.

    device_loss_test.py
"""

import os
import unittest

import grpc

import api
import unittest_main
from acceld.v1 import compute_pb2
from acceld.v1.ops import softmax_pb2
from client_program import GEMM_SIZE
from daemon import Daemon

FAKE_CARD = os.path.abspath("tests/testing/plugins/fake_card")

# What a health check answers.
SERVING, NOT_SERVING = b"\x08\x01", b"\x08\x02"

# As the README says.
EXIT_DEVICE_LOST = 3


def on(kind):
    return compute_pb2.DeviceRequest(kind=kind)


class DeviceLossTest(unittest.TestCase):
    def start(self, **environment):
        flags = ("--drain_timeout=60s", "--cpu_threads=1", f"--plugin_folder={FAKE_CARD}")
        daemon = Daemon(*flags, environment=environment)
        self.addCleanup(daemon.close)
        client = api.Client(daemon.unix_endpoint)
        self.addCleanup(client.close)
        return daemon, client

    def assert_lost(self, error):
        self.assertEqual(error.reason, "DEVICE_LOST")
        self.assertEqual(error.code, grpc.StatusCode.INTERNAL.value[0])
        self.assertIn("while softmax ran", error.message)

    def test_what_was_accepted_is_answered_and_the_rest_refused(self):
        daemon, client = self.start(ACCELD_FAKE_CARD_LOST_BY="softmax")
        before = set(os.listdir(daemon.folder)) - {"s", "s.lock"}
        health = client.channel.unary_stream("/grpc.health.v1.Health/Watch")
        watch = health(b"", timeout=api.TIMEOUT_S)
        self.assertEqual(next(watch), SERVING)
        session = client.open(device=on("cuda"))
        address = session.alloc(64)
        on_cpu = client.open(device=on("cpu"))
        addresses, each = api.time_gemm(on_cpu, GEMM_SIZE)
        count = min(4000, int(1 / each) + 4)
        submit = on_cpu.submit()
        submit.send(*[api.square_gemm(GEMM_SIZE, *addresses)] * count, api.synchronize())
        submit.wait_for(1)

        softmax = softmax_pb2.Softmax(shape=[16], axis=0, input=address, output=address)
        results = session.execute(api.run(softmax=softmax), api.synchronize())
        self.assert_lost(api.CommandError(results[1].error))
        self.assertEqual(next(watch), NOT_SERVING)

        with self.assertRaises(api.CommandError) as raised:
            session.alloc(64)
        self.assert_lost(raised.exception)
        with self.assertRaises(grpc.RpcError) as refused:
            client.open()
        self.assertEqual(api.reason_of(refused.exception), "DRAINING")
        answered = submit.wait_for(count + 1)
        self.assertFalse(answered[count + 1].HasField("error"), answered[count + 1])

        self.assertEqual(daemon.wait(), EXIT_DEVICE_LOST, daemon.log())
        self.assertEqual(set(os.listdir(daemon.folder)), before)
        lines = [line for line in daemon.log().splitlines() if " device lost " in line]
        self.assertEqual(len(lines), 1, daemon.log())
        for part in ("error device lost", "device=cuda ordinal=0", "while softmax ran"):
            self.assertIn(part, lines[0])

    def test_a_card_that_does_not_come_back_is_unavailable_and_the_cpu_serves(self):
        why = "the card has fallen off the bus"
        _, client = self.start(ACCELD_FAKE_CARD_FAILS=why)
        info = client.server_info()
        backends = {backend.kind: (backend.available, backend.reason) for backend in info.backends}
        self.assertFalse(backends["cuda"][0])
        self.assertIn(f"cuda device 0: cudaSetDevice: {why}.", backends["cuda"][1])
        self.assertEqual(backends["cpu"], (True, ""))
        self.assertEqual([device.kind for device in info.devices], ["cpu"])
        session = client.open()
        self.assertEqual(session.info.device.kind, "cpu")
        self.assertTrue(session.computes_right())
        with self.assertRaises(grpc.RpcError) as raised:
            client.open(device=on("cuda"))
        self.assertEqual(api.reason_of(raised.exception), "DEVICE_LOST")
        self.assertIn(why, raised.exception.details())


if __name__ == "__main__":
    unittest_main.main()
