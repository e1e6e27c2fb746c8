"""A client of acceld's gRPC API for tests, written from the .proto files alone."""

import array
import contextlib
import queue
import time

import grpc

from acceld.internal import google_rpc_status_pb2
from acceld.v1 import command_pb2, compute_pb2, compute_pb2_grpc, op_pb2, status_pb2, values_pb2
from acceld.v1.ops import gemm_pb2

TIMEOUT_S = 60

# How soon what an ended client held must be free again.
RELEASE_S = 5

_CHANNEL_OPTIONS = [
    # A connection of its own, and not one shared with the process's other channels.
    ("grpc.use_local_subchannel_pool", 1),
    ("grpc.max_receive_message_length", 64 << 20),
    ("grpc.max_send_message_length", -1),
    ("grpc.enable_retries", 0),
]


class CommandError(Exception):
    """A command that failed."""

    def __init__(self, status):
        super().__init__(f"{status.error_info.reason}: {status.message}")
        self.code = status.code
        self.reason = status.error_info.reason
        self.message = status.message


def reason_of(error):
    """The reason that a failed call carries; empty where there is none."""
    for key, value in error.trailing_metadata() or ():
        if key != "grpc-status-details-bin":
            continue
        details = google_rpc_status_pb2.GoogleRpcStatus.FromString(value)
        for detail in details.details:
            if detail.type_url == "type.googleapis.com/google.rpc.ErrorInfo":
                return status_pb2.ErrorInfo.FromString(detail.value).reason
    return ""


def wait_until(is_so, timeout_s=RELEASE_S):
    """Whether `is_so()` becomes true in time."""
    deadline = time.monotonic() + timeout_s
    while not is_so():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


def doubles(*values):
    return array.array("d", values).tobytes()


def from_doubles(data):
    return list(array.array("d", data))


# ---- Commands ----


def alloc(size_bytes, address=0):
    return command_pb2.Command(
        alloc=command_pb2.AllocateMemory(address=address, size_bytes=size_bytes)
    )


def free(address):
    return command_pb2.Command(free=command_pb2.FreeMemory(address=address))


def write(target, data, stream=0):
    return command_pb2.Command(
        stream=stream, write=command_pb2.WriteMemory(target=target, data=data)
    )


def read(source, size_bytes, stream=0):
    return command_pb2.Command(
        stream=stream, read=command_pb2.ReadMemory(source=source, size_bytes=size_bytes)
    )


def synchronize():
    return command_pb2.Command(synchronize=command_pb2.Synchronize())


def run(stream=0, **op):
    """An op by the name of its field: run(gemm=...)."""
    return command_pb2.Command(stream=stream, run=op_pb2.Op(**op))


def square_gemm(n, a, b, c, stream=0):
    """C = A B of [n, n] f64 matrices."""
    gemm = gemm_pb2.Gemm(
        type=values_pb2.DATA_TYPE_F64,
        transpose_a=values_pb2.TRANSPOSE_NONE,
        transpose_b=values_pb2.TRANSPOSE_NONE,
        m=n,
        n=n,
        k=n,
        alpha=1,
        a=a,
        lda=n,
        b=b,
        ldb=n,
        c=c,
        ldc=n,
    )
    return run(stream, gemm=gemm)


# ---- Calls ----


class Client:
    """One connection."""

    def __init__(self, endpoint, options=()):
        self.channel = grpc.insecure_channel(endpoint, [*_CHANNEL_OPTIONS, *options])
        self.compute = compute_pb2_grpc.ComputeStub(self.channel)
        self.admin = compute_pb2_grpc.AdminStub(self.channel)

    def close(self):
        self.channel.close()

    def open(self, **request):
        response = self.compute.OpenSession(
            compute_pb2.OpenSessionRequest(**request), timeout=TIMEOUT_S
        )
        return Session(self, response)

    def server_info(self):
        return self.compute.GetServerInfo(compute_pb2.GetServerInfoRequest(), timeout=TIMEOUT_S)

    def list_sessions(self):
        return self.admin.ListSessions(compute_pb2.ListSessionsRequest(), timeout=TIMEOUT_S)

    def usage(self):
        """(session_count, live_bytes) of all clients."""
        response = self.list_sessions()
        return response.session_count, response.live_bytes

    def call_raw(self, method, request, timeout=TIMEOUT_S, **options):
        """A unary call of acceld.v1.`method` with bytes; returns the response's bytes."""
        call = self.channel.unary_unary(f"/acceld.v1.{method}")
        return call(request, timeout=timeout, **options)

    def stream_raw(self, method, requests, timeout=TIMEOUT_S, **options):
        """A call of acceld.v1.`method` with an iterator of bytes; iterates over the responses' bytes."""
        call = self.channel.stream_stream(f"/acceld.v1.{method}")
        return call(iter(requests), timeout=timeout, **options)


class Session:
    """A session and what it may do."""

    def __init__(self, client, info):
        self.client = client
        self.info = info

    def execute(self, *commands):
        """Runs commands; returns the results that were sent, by the index of their command."""
        request = compute_pb2.ExecuteRequest(session_secret=self.info.secret, commands=commands)
        response = self.client.compute.Execute(request, timeout=TIMEOUT_S)
        return {result.sequence - 1: result for result in response.results}

    def do(self, command):
        """Runs one command; returns its result, or None where it returns nothing."""
        result = self.execute(command).get(0)
        if result is not None and result.HasField("error"):
            raise CommandError(result.error)
        return result

    def alloc(self, size_bytes, address=0):
        return self.do(alloc(size_bytes, address)).address

    def write(self, target, data, chunk_bytes=1 << 20, stream=0):
        """Copies any number of bytes to the device; returns how many the server says."""
        header = compute_pb2.WriteHeader(
            session_secret=self.info.secret, target=target, size_bytes=len(data), stream=stream
        )
        chunks = (
            compute_pb2.WriteRequest(data=data[i : i + chunk_bytes])
            for i in range(0, len(data), chunk_bytes)
        )

        def requests():
            yield compute_pb2.WriteRequest(header=header)
            yield from chunks

        return self.client.compute.Write(requests(), timeout=TIMEOUT_S).size_bytes

    def read(self, source, size_bytes, stream=0):
        request = compute_pb2.ReadRequest(
            session_secret=self.info.secret, source=source, size_bytes=size_bytes, stream=stream
        )
        responses = self.client.compute.Read(request, timeout=TIMEOUT_S)
        return b"".join(response.data for response in responses)

    def submit(self):
        return Submit(self)

    @contextlib.contextmanager
    def attached(self):
        """Holds the session."""
        request = compute_pb2.AttachSessionRequest(session_secret=self.info.secret)
        call = self.client.compute.AttachSession(request)
        next(call)
        try:
            yield call
        finally:
            call.cancel()

    def close(self):
        request = compute_pb2.CloseSessionRequest(session_secret=self.info.secret)
        self.client.compute.CloseSession(request, timeout=TIMEOUT_S)

    def computes_right(self):
        """Whether a product of two small matrices is what it has to be."""
        a, b, c = (self.alloc(32) for _ in range(3))
        results = self.execute(
            write(a, doubles(1, 2, 3, 4)),
            write(b, doubles(5, 6, 7, 8)),
            square_gemm(2, a, b, c),
            read(c, 32),
            free(a),
            free(b),
            free(c),
        )
        return from_doubles(results[3].data) == [23, 34, 31, 46]


class Submit:
    """A Submit call: `send` commands, `next` response, `end` the sending."""

    _END = object()

    def __init__(self, session):
        self._requests = queue.SimpleQueue()
        self._secret = session.info.secret
        self.call = session.client.compute.Submit(
            iter(self._requests.get, self._END), timeout=TIMEOUT_S
        )

    def send(self, *commands):
        self._requests.put(
            compute_pb2.SubmitRequest(session_secret=self._secret, commands=commands)
        )
        self._secret = b""

    def next(self):
        return next(self.call)

    def wait_for(self, sequence):
        """Takes responses until the command `sequence` and all before it have finished; returns their
        results by sequence."""
        results = {}
        while True:
            response = self.next()
            results.update((result.sequence, result) for result in response.results)
            if response.finished_sequence >= sequence:
                return results

    def end(self):
        self._requests.put(self._END)

    def cancel(self):
        self.end()
        self.call.cancel()


def time_gemm(session, n):
    """Allocates three [n, n] f64 matrices; returns their addresses and how long their product takes."""
    addresses = [session.alloc(8 * n * n) for _ in range(3)]
    session.execute(square_gemm(n, *addresses))
    start = time.monotonic()
    session.execute(square_gemm(n, *addresses))
    return addresses, time.monotonic() - start
