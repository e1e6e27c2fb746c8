"""The daemon's own start and end: sockets, draining, signals, and what it refuses to start with.

    daemon_life_test.py
"""

import os
import shutil
import signal
import socket
import time
import unittest

import grpc

import api
import unittest_main
from acceld.v1 import compute_pb2
from client_program import GEMM_SIZE
from daemon import Daemon, make_folder, run_to_end

# How soon a client learns that the daemon is gone.
LOST_S = 5

# How soon a channel tries again, at the latest; gRPC starts with a second.
RECONNECTED_S = 20

# How soon a daemon ends that need not wait for work.
END_S = 5


class DaemonTest(unittest.TestCase):
    def start(self, *flags, **options):
        daemon = Daemon(*flags, **options)
        self.addCleanup(daemon.close)
        return daemon

    def connect(self, endpoint):
        client = api.Client(endpoint)
        self.addCleanup(client.close)
        return client

    def make_folder(self):
        folder = make_folder()
        self.addCleanup(shutil.rmtree, folder)
        return folder

    def assert_fails(self, code, reason, call, *arguments):
        with self.assertRaises(grpc.RpcError) as raised:
            call(*arguments)
        error = raised.exception
        self.assertEqual((error.code(), api.reason_of(error)), (code, reason), error.details())
        return error

    def submit_work(self, session, seconds):
        """Queues about so much work; returns the Submit call and the sequence of the last command."""
        addresses, each = api.time_gemm(session, GEMM_SIZE)
        count = min(4000, int(seconds / each) + 1)
        submit = session.submit()
        submit.send(*[api.square_gemm(GEMM_SIZE, *addresses)] * count, api.synchronize())
        submit.wait_for(1)
        return submit, count + 1


class LostDaemonTest(DaemonTest):
    def check(self, call):
        daemon = self.start()
        session = self.connect(daemon.unix_endpoint).open()
        waiting = call(session)
        daemon.signal(signal.SIGKILL)
        start = time.monotonic()
        error = self.assert_fails(grpc.StatusCode.UNAVAILABLE, "", waiting)
        self.assertLess(time.monotonic() - start, LOST_S, error)
        # The next call too, which finds nobody.
        self.assert_fails(grpc.StatusCode.UNAVAILABLE, "", session.execute, api.alloc(8))
        self.assertLess(time.monotonic() - start, LOST_S)

    def test_work_that_waits_fails(self):
        def call(session):
            submit, last = self.submit_work(session, 30)
            return lambda: submit.wait_for(last)

        self.check(call)

    def test_held_session_fails(self):
        def call(session):
            hold = session.client.compute.AttachSession(
                compute_pb2.AttachSessionRequest(session_secret=session.info.secret)
            )
            next(hold)
            return lambda: next(hold)

        self.check(call)


class SocketTest(DaemonTest):
    def test_killed_daemons_socket_is_taken_over(self):
        folder = self.make_folder()
        first = self.start(folder=folder)
        first.signal(signal.SIGKILL)
        first.wait()
        self.assertTrue(os.path.exists(first.socket_path), "A stale socket is left.")
        second = self.start(folder=folder)
        self.assertTrue(self.connect(second.unix_endpoint).open().computes_right())

    def test_channel_finds_a_restarted_daemon(self):
        folder = self.make_folder()
        first = self.start(folder=folder)
        client = self.connect(first.unix_endpoint)
        client.open()
        first.signal(signal.SIGKILL)
        first.wait()
        self.start(folder=folder)

        def opens():
            try:
                return client.open().computes_right()
            except grpc.RpcError as error:
                self.assertEqual(error.code(), grpc.StatusCode.UNAVAILABLE)
                return False

        self.assertTrue(api.wait_until(opens, RECONNECTED_S))

    def test_live_daemons_socket_is_not_taken(self):
        first = self.start()
        session = self.connect(first.unix_endpoint).open()
        refused = run_to_end(f"--socket={first.socket_path}")
        self.assertNotEqual(refused.returncode, 0)
        self.assertIn(first.socket_path, refused.stderr)
        self.assertEqual(refused.stdout, "", "It never says that it listens.")
        self.assertTrue(session.computes_right())
        self.assertTrue(self.connect(first.unix_endpoint).open().computes_right())

    def test_live_daemons_port_is_not_taken(self):
        first = self.start()
        folder = self.make_folder()
        refused = run_to_end(f"--socket={folder}/s", f"--listen={first.tcp_endpoint}")
        self.assertNotEqual(refused.returncode, 0)
        self.assertIn(first.tcp_endpoint, refused.stderr)
        self.assertEqual(os.listdir(folder), [])
        self.assertTrue(self.connect(first.tcp_endpoint).open().computes_right())

    def test_file_that_is_no_socket_is_kept(self):
        path = os.path.join(self.make_folder(), "precious")
        with open(path, "w", encoding="ascii") as file:
            file.write("data")
        refused = run_to_end(f"--socket={path}")
        self.assertNotEqual(refused.returncode, 0)
        self.assertIn(path, refused.stderr)
        with open(path, encoding="ascii") as file:
            self.assertEqual(file.read(), "data")


class DrainTest(DaemonTest):
    def wait_until_draining(self, client):
        self.assertTrue(api.wait_until(lambda: client.server_info().draining))

    def test_accepted_commands_are_answered_and_new_ones_refused(self):
        daemon = self.start("--drain_timeout=60s")
        client = self.connect(daemon.unix_endpoint)
        session = client.open()
        idle = client.open()
        submit, last = self.submit_work(session, 1)
        daemon.signal(signal.SIGTERM)
        self.wait_until_draining(client)
        with self.assertRaises(api.CommandError) as raised:
            idle.do(api.alloc(8))
        self.assertEqual(raised.exception.reason, "DRAINING")
        self.assertEqual(raised.exception.code, grpc.StatusCode.UNAVAILABLE.value[0])
        for endpoint in (daemon.unix_endpoint, daemon.tcp_endpoint):
            newcomer = self.connect(endpoint)
            self.assert_fails(grpc.StatusCode.UNAVAILABLE, "DRAINING", newcomer.open)
        results = submit.wait_for(last)
        self.assertFalse(results[last].HasField("error"), results[last])
        self.assertEqual(daemon.wait(), 0, daemon.log())
        self.assertFalse(os.path.exists(daemon.socket_path))

    def test_health_says_that_it_serves_no_more(self):
        daemon = self.start()
        client = self.connect(daemon.unix_endpoint)
        submit, last = self.submit_work(client.open(), 1)
        daemon.signal(signal.SIGTERM)
        self.wait_until_draining(client)
        check = client.channel.unary_unary("/grpc.health.v1.Health/Check")
        self.assertEqual(check(b"", timeout=api.TIMEOUT_S), b"\x08\x02")
        submit.wait_for(last)

    def test_idle_daemon_ends_at_once_and_leaves_no_file(self):
        daemon = self.start("--drain_timeout=60s")
        client = self.connect(daemon.unix_endpoint)
        client.open().alloc(1 << 20)
        before = set(os.listdir(daemon.folder)) - {"s", "s.lock"}
        start = time.monotonic()
        self.assertEqual(daemon.stop(), 0, daemon.log())
        self.assertLess(time.monotonic() - start, END_S)
        self.assertEqual(set(os.listdir(daemon.folder)), before)

    def test_held_session_without_work_does_not_delay_the_end(self):
        daemon = self.start("--drain_timeout=60s")
        session = self.connect(daemon.unix_endpoint).open()
        with session.attached() as call:
            start = time.monotonic()
            self.assertEqual(daemon.stop(), 0, daemon.log())
            self.assertLess(time.monotonic() - start, END_S)
            self.assert_fails(grpc.StatusCode.UNAVAILABLE, "DRAINING", lambda: next(call))

    def test_drain_timeout_ends_it_with_work_unfinished(self):
        daemon = self.start("--drain_timeout=300ms")
        submit, last = self.submit_work(self.connect(daemon.unix_endpoint).open(), 60)
        start = time.monotonic()
        self.assertEqual(daemon.stop(), 0, daemon.log())
        seconds = time.monotonic() - start
        self.assertGreaterEqual(seconds, 0.3)
        self.assertLess(seconds, END_S)
        # What was dropped is answered, and then the call; what still ran is not.
        errors = {}

        def take_all():
            while True:
                errors.update((result.sequence, result.error) for result in submit.next().results)

        self.assert_fails(grpc.StatusCode.UNAVAILABLE, "DRAINING", take_all)
        self.assertEqual(errors[last].error_info.reason, "SESSION_ENDED")

    def test_drain_timeout_does_not_wait_for_a_long_op(self):
        daemon = self.start("--drain_timeout=300ms")
        client = self.connect(daemon.unix_endpoint)
        session = client.open()
        length = 400_000
        q, k, v, output = (session.alloc(4 * length) for _ in range(4))
        attention = {"batch": 1, "heads": 1, "seq_q": length, "seq_kv": length, "head_dim": 1}
        buffers = {"q": q, "k": k, "v": v, "output": output}
        submit = session.submit()
        submit.send(api.run(attention={**attention, **buffers, "scale": 1}), api.synchronize())
        # What follows was sent later and is answered, so the op runs.
        self.assertEqual(client.usage()[0], 1)
        start = time.monotonic()
        self.assertEqual(daemon.stop(), 0, daemon.log())
        self.assertLess(time.monotonic() - start, END_S)
        self.assertFalse(os.path.exists(daemon.socket_path))

    def test_second_signal_ends_it_at_once(self):
        daemon = self.start("--drain_timeout=1h")
        client = self.connect(daemon.unix_endpoint)
        submit, last = self.submit_work(client.open(), 60)
        daemon.signal(signal.SIGTERM)
        self.wait_until_draining(client)
        daemon.signal(signal.SIGTERM)
        self.assertEqual(daemon.wait(END_S), 0, daemon.log())
        with self.assertRaises(grpc.RpcError):
            while submit.next().finished_sequence < last:
                pass
            submit.next()
        self.assertFalse(os.path.exists(daemon.socket_path))

    def test_interrupt_drains_as_well(self):
        daemon = self.start()
        daemon.signal(signal.SIGINT)
        self.assertEqual(daemon.wait(END_S), 0, daemon.log())

    def test_administrator_drains_it(self):
        daemon = self.start()
        client = self.connect(daemon.unix_endpoint)
        client.open()
        response = client.admin.Drain(compute_pb2.DrainRequest(), timeout=api.TIMEOUT_S)
        self.assertEqual(response.session_count, 1)
        self.assertEqual(daemon.wait(END_S), 0, daemon.log())

    def test_nobody_else_drains_it(self):
        daemon = self.start()
        client = self.connect(daemon.tcp_endpoint)
        self.assert_fails(
            grpc.StatusCode.PERMISSION_DENIED,
            "PERMISSION_DENIED",
            lambda: client.admin.Drain(compute_pb2.DrainRequest(), timeout=api.TIMEOUT_S),
        )
        self.assertFalse(client.server_info().draining)
        self.assertTrue(client.open().computes_right())


class CoresTest(DaemonTest):
    def test_only_openmps_own_threads_are_kept_on_cores(self):
        daemon = self.start()
        self.assertEqual(os.sched_getaffinity(daemon.pid), os.sched_getaffinity(0))


class RefusalToStartTest(DaemonTest):
    def check(self, *flags, names):
        refused = run_to_end(*flags)
        self.assertEqual(refused.returncode, 2, refused.stderr)
        self.assertEqual(refused.stdout, "")
        self.assertEqual(refused.stderr.count("\n"), 1, refused.stderr)
        self.assertIn(names, refused.stderr)

    def check_config(self, text, names):
        path = os.path.join(self.make_folder(), "acceld.textproto")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        self.check(f"--config={path}", names=names)

    def test_unknown_flag(self):
        self.check("--no_such_flag=1", names="no_such_flag")

    def test_argument_that_is_no_flag(self):
        self.check("serve", names="serve")

    def test_flag_out_of_range(self):
        self.check("--drain_timeout=2h", names="drain_timeout")

    def test_unknown_backend(self):
        self.check("--backend=opencl", names="opencl")

    def test_host_that_is_not_loopback(self):
        folder = self.make_folder()
        self.check(f"--socket={folder}/s", "--listen=0.0.0.0:0", names="0.0.0.0")
        self.assertEqual(os.listdir(folder), [])

    def test_configuration_that_is_not_there(self):
        self.check("--config=/nonexistent/acceld.textproto", names="/nonexistent/acceld.textproto")

    def test_configuration_with_an_unknown_field(self):
        self.check_config('socket: "/tmp/x"\nno_such_field: 1\n', "no_such_field")

    def test_configuration_with_a_value_out_of_range(self):
        self.check_config("limits {\n  max_sessions: 0\n}\n", "max_sessions")

    def test_socket_in_a_folder_that_cannot_be(self):
        path = os.path.join(self.make_folder(), "file", "s")
        with open(os.path.dirname(path), "w", encoding="ascii"):
            pass
        refused = run_to_end(f"--socket={path}")
        self.assertNotEqual(refused.returncode, 0)
        self.assertIn(path, refused.stderr)


class TcpTest(DaemonTest):
    def test_connection_that_says_nothing_is_closed(self):
        daemon = self.start(config="limits { handshake_timeout_ms: 200 }")
        host, port = daemon.tcp_endpoint.rsplit(":", 1)
        with socket.create_connection((host, int(port)), timeout=LOST_S) as connection:
            self.assertEqual(connection.recv(1), b"")


if __name__ == "__main__":
    unittest_main.main()
