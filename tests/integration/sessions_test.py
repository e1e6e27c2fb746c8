"""Sessions and the clients behind them: what a client that leaves, stops or lingers does to the others.

    sessions_test.py
"""

import concurrent.futures
import os
import signal
import time
import unittest

import grpc

import api
import unittest_main
from acceld.v1 import command_pb2, compute_pb2
from client_process import ClientProcess
from client_program import GEMM_SIZE
from daemon import Daemon

CLIENTS_AT_ONCE = 100

# How soon another client's small call is answered, whatever the others do.
OTHERS_S = 5


class SessionsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.daemon = Daemon()
        cls.addClassCleanup(cls.daemon.close)

    def setUp(self):
        self.client = self.connect()
        self.addCleanup(self.assert_all_is_released)

    def connect(self, endpoint=None):
        client = api.Client(endpoint or self.daemon.unix_endpoint)
        self.addCleanup(client.close)
        return client

    def start_client(self, *arguments, endpoint=None):
        process = ClientProcess(endpoint or self.daemon.unix_endpoint, *arguments)
        self.addCleanup(process.close)
        return process

    def assert_all_is_released(self):
        client = api.Client(self.daemon.unix_endpoint)
        try:
            released = api.wait_until(lambda: client.usage() == (0, 0))
            self.assertTrue(released, f"{client.list_sessions()}\n{self.daemon.log()}")
        finally:
            client.close()

    def assert_fails(self, code, reason, call, *arguments):
        with self.assertRaises(grpc.RpcError) as raised:
            call(*arguments)
        error = raised.exception
        self.assertEqual((error.code(), api.reason_of(error)), (code, reason), error.details())

    def assert_serves_others(self):
        start = time.monotonic()
        client = self.connect()
        session = client.open()
        self.assertTrue(session.computes_right())
        session.close()
        self.assertLess(time.monotonic() - start, OTHERS_S)


class KilledClientTest(SessionsTest):
    """Nothing of a client stays that a signal has ended; the others are served at once."""

    def check(self, activity, *options, endpoint=None):
        process = self.start_client(activity, *options, endpoint=endpoint)
        sessions, live_bytes = self.client.usage()
        self.assertEqual(sessions, 1)
        self.assertGreater(live_bytes, 0)
        process.kill()
        self.assert_all_is_released()
        self.assert_serves_others()
        return process

    def test_in_the_middle_of_an_upload(self):
        self.check("upload")

    def test_in_the_middle_of_an_upload_over_tcp(self):
        self.check("upload", endpoint=self.daemon.tcp_endpoint)

    def test_in_the_middle_of_an_upload_while_a_child_keeps_the_socket(self):
        process = self.check("upload", "--fork")
        self.assertTrue(process.child_is_alive())

    def test_in_the_middle_of_an_operation(self):
        # What it has queued would take a minute: it is dropped.
        self.check("compute")

    def test_in_the_middle_of_an_operation_over_tcp(self):
        self.check("compute", endpoint=self.daemon.tcp_endpoint)

    def test_in_the_middle_of_an_operation_while_a_child_keeps_the_socket(self):
        process = self.check("compute", "--fork")
        self.assertTrue(process.child_is_alive())

    def test_with_a_held_session(self):
        self.check("hold")

    def test_with_a_session_that_no_call_holds(self):
        self.check("idle")

    def test_with_answers_that_it_never_took(self):
        self.check("read_unread")

    def test_while_it_is_stopped(self):
        process = self.start_client("compute")
        process.signal(signal.SIGSTOP)
        process.kill()
        self.assert_all_is_released()


class LeavingClientTest(SessionsTest):
    def test_process_that_ends_normally_leaves_nothing(self):
        process = self.start_client("hold")
        self.assertEqual(self.client.usage()[0], 1)
        self.assertEqual(process.end(), 0)
        self.assert_all_is_released()

    def test_process_that_ends_without_closing_leaves_nothing(self):
        process = self.start_client("idle")
        self.assertEqual(process.end(), 0)
        self.assert_all_is_released()

    def test_closed_session_is_gone_when_the_call_returns(self):
        session = self.client.open()
        session.alloc(1 << 20)
        session.close()
        self.assertEqual(self.client.usage(), (0, 0))
        self.assert_fails(
            grpc.StatusCode.NOT_FOUND, "SESSION_NOT_FOUND", session.execute, api.alloc(8)
        )

    def test_forked_child_that_ends_leaves_its_parents_session(self):
        process = self.start_client("hold", "--fork")
        process.end_child()
        self.assertTrue(api.wait_until(lambda: not process.child_is_alive()))
        self.assertEqual(self.client.usage()[0], 1)
        self.assertEqual(process.end(), 0)

    def test_submit_that_is_cancelled_ends_its_session_and_drops_its_work(self):
        session = self.client.open()
        addresses, seconds = api.time_gemm(session, GEMM_SIZE)
        submit = session.submit()
        count = min(4000, int(60 / seconds) + 1)
        submit.send(*[api.square_gemm(GEMM_SIZE, *addresses)] * count)
        submit.wait_for(1)
        submit.cancel()
        self.assert_all_is_released()

    def test_one_sessions_end_leaves_the_other_of_its_connection(self):
        first, second = self.client.open(), self.client.open()
        address = second.alloc(8)
        second.write(address, b"12345678")
        first.alloc(8)
        first.close()
        self.assertEqual(second.read(address, 8), b"12345678")
        second.close()


class StoppedClientTest(SessionsTest):
    def check(self, activity):
        process = self.start_client(activity)
        process.signal(signal.SIGSTOP)
        self.assert_serves_others()
        process.kill()

    def test_uploading(self):
        self.check("upload")

    def test_computing(self):
        self.check("compute")

    def test_holding(self):
        self.check("hold")

    def test_not_reading(self):
        self.check("read_unread")


class SharingTest(SessionsTest):
    def open(self, **request):
        session = self.client.open(**request)
        self.addCleanup(session.close)
        return session

    @staticmethod
    def submit_nothing(session):
        submit = session.submit()
        submit.send()
        submit.end()
        return submit.next()

    def test_small_calls_are_answered_while_another_client_computes(self):
        process = self.start_client("compute")
        for _ in range(3):
            self.assert_serves_others()
        process.kill()

    def test_addresses_of_another_session_are_unknown(self):
        mine, other = self.open(), self.open()
        by_server = mine.alloc(4096)
        by_client = mine.alloc(4096, 1 << 30)
        mine.write(by_server, b"x" * 4096)
        for address in (by_server, by_server + 2048, by_client):
            for command in (api.read(address, 8), api.write(address, bytes(8)), api.free(address)):
                with self.assertRaises(api.CommandError) as raised:
                    other.do(command)
                self.assertEqual(raised.exception.reason, "UNKNOWN_ADDRESS")
        self.assertEqual(mine.read(by_server, 4096), b"x" * 4096)

    def test_the_same_address_is_other_memory_in_another_session(self):
        mine, other = self.open(), self.open()
        for session, content in ((mine, b"mine"), (other, b"none")):
            session.alloc(4, 1 << 30)
            session.write(1 << 30, content)
        other.do(api.free(1 << 30))
        self.assertEqual(mine.read(1 << 30, 4), b"mine")

    def test_streams_and_events_of_another_session_are_unknown(self):
        mine, other = self.open(), self.open()
        stream = mine.do(command_pb2.Command(create_stream=command_pb2.CreateStream())).stream
        event = mine.do(command_pb2.Command(create_event=command_pb2.CreateEvent())).event
        for command, reason in (
            (api.run(stream, **{"memset": {}}), "UNKNOWN_STREAM"),
            (
                command_pb2.Command(stream=stream, destroy_stream=command_pb2.DestroyStream()),
                "UNKNOWN_STREAM",
            ),
            (
                command_pb2.Command(query_event=command_pb2.QueryEvent(event=event)),
                "UNKNOWN_EVENT",
            ),
            (
                command_pb2.Command(destroy_event=command_pb2.DestroyEvent(event=event)),
                "UNKNOWN_EVENT",
            ),
        ):
            with self.assertRaises(api.CommandError) as raised:
                other.do(command)
            self.assertEqual(raised.exception.reason, reason)

    def test_secret_is_worth_nothing_to_another_identity(self):
        session = self.open()
        over_tcp = self.connect(self.daemon.tcp_endpoint)
        stranger = api.Session(over_tcp, session.info)
        address = session.alloc(8)
        for call in (
            lambda: stranger.execute(api.read(address, 8)),
            lambda: stranger.read(address, 8),
            lambda: stranger.write(address, bytes(8)),
            stranger.close,
            lambda: self.submit_nothing(stranger),
            lambda: stranger.attached().__enter__(),
        ):
            with self.subTest(call=call):
                self.assert_fails(grpc.StatusCode.NOT_FOUND, "SESSION_NOT_FOUND", call)
        self.assertTrue(session.computes_right())

    def test_secret_serves_another_connection_of_the_same_identity(self):
        session = self.open()
        self.assertTrue(api.Session(self.connect(), session.info).computes_right())

    def test_listing_shows_no_secret_and_nobody_elses_sessions(self):
        session = self.open(client_name="visible")
        session.alloc(12345)
        response = self.client.list_sessions()
        (usage,) = response.sessions
        self.assertEqual(usage.id, session.info.id)
        self.assertEqual(usage.client_name, "visible")
        self.assertEqual(usage.pid, os.getpid())
        self.assertEqual(usage.memory_bytes, 12345)
        self.assertNotIn(session.info.secret, response.SerializeToString())
        stranger = self.connect(self.daemon.tcp_endpoint).list_sessions()
        self.assertEqual(len(stranger.sessions), 0)
        self.assertEqual((stranger.session_count, stranger.live_bytes), (1, 12345))

    def test_free_memory_is_what_others_left(self):
        def free_bytes():
            return self.client.server_info().devices[0].free_memory_bytes

        session = self.open()
        before = free_bytes()
        address = session.alloc(64 << 20)
        self.assertEqual(before - free_bytes(), 64 << 20)
        session.do(api.free(address))
        self.assertEqual(free_bytes(), before)

    def test_out_of_memory_leaves_room_for_the_next(self):
        session = self.open()
        total = self.client.server_info().devices[0].total_memory_bytes
        for size in (total + 1, 1 << 62, (1 << 64) - 1):
            with self.assertRaises(api.CommandError) as raised:
                session.alloc(size)
            self.assertEqual(raised.exception.code, grpc.StatusCode.RESOURCE_EXHAUSTED.value[0])
        self.assertTrue(session.computes_right())

    def test_a_hundred_clients_at_once(self):
        def work(number):
            client = api.Client(
                self.daemon.tcp_endpoint if number % 2 else self.daemon.unix_endpoint
            )
            try:
                session = client.open()
                right = all(session.computes_right() for _ in range(3))
                session.close()
                return right
            finally:
                client.close()

        with concurrent.futures.ThreadPoolExecutor(CLIENTS_AT_ONCE) as pool:
            self.assertTrue(all(pool.map(work, range(CLIENTS_AT_ONCE))))


class EndSessionTest(SessionsTest):
    def end(self, client, session_id):
        client.admin.EndSession(
            compute_pb2.EndSessionRequest(id=session_id), timeout=api.TIMEOUT_S
        )

    def test_ends_a_session_and_its_calls(self):
        session = self.client.open()
        addresses, seconds = api.time_gemm(session, GEMM_SIZE)
        submit = session.submit()
        submit.send(*[api.square_gemm(GEMM_SIZE, *addresses)] * min(4000, int(60 / seconds) + 1))
        submit.wait_for(1)
        self.end(self.client, session.info.id)
        with self.assertRaises(grpc.RpcError) as raised:
            submit.wait_for(5000)
        self.assertEqual(raised.exception.code(), grpc.StatusCode.CANCELLED)
        self.assertIn("administrator", raised.exception.details())

    def test_of_a_session_that_is_not_there(self):
        self.assert_fails(
            grpc.StatusCode.NOT_FOUND, "SESSION_NOT_FOUND", self.end, self.client, 987654321
        )

    def test_of_somebody_elses_session(self):
        session = self.client.open()
        over_tcp = self.connect(self.daemon.tcp_endpoint)
        self.assert_fails(
            grpc.StatusCode.NOT_FOUND, "SESSION_NOT_FOUND", self.end, over_tcp, session.info.id
        )
        self.assertTrue(session.computes_right())
        session.close()


if __name__ == "__main__":
    unittest_main.main()
