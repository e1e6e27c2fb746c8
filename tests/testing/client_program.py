"""A client in a process of its own, for tests that end it in the middle of what it does.

    client_program.py ENDPOINT ACTIVITY [--fork]

Opens a session, begins the activity, and prints "ready PID", where PID is that of a forked child that keeps
the connection (--fork), or 0. Then it goes on until it is killed or its standard input ends.
"""

import os
import signal
import sys
import threading

import api
from acceld.v1 import compute_pb2

UPLOAD_BYTES = 256 << 20
GEMM_SIZE = 1536

# As long as this is the work that `compute` queues, at the least.
QUEUED_S = 60
MAX_QUEUED = 4000


def say_ready(forks):
    child = 0
    if forks:
        child = os.fork()
        if child == 0:
            # Everything but the connection and the other descriptors of gRPC.
            os.close(1)
            while True:
                signal.pause()
    print(f"ready {child}", flush=True)


def hold(session, ready):
    session.alloc(1 << 20)
    with session.attached():
        ready()
        sys.stdin.read()


def idle(session, ready):
    session.alloc(1 << 20)
    ready()
    sys.stdin.read()


def upload(session, ready):
    """Is always in the middle of a Write call, which never comes to its end."""
    target = session.alloc(UPLOAD_BYTES)
    header = compute_pb2.WriteHeader(
        session_secret=session.info.secret, target=target, size_bytes=UPLOAD_BYTES
    )
    chunk = compute_pb2.WriteRequest(data=bytes(1 << 20))

    def requests():
        yield compute_pb2.WriteRequest(header=header)
        for i in range(UPLOAD_BYTES // len(chunk.data) - 1):
            if i == 16:
                ready()
            yield chunk
        threading.Event().wait()

    session.client.compute.Write(requests())


def compute(session, ready):
    """Has an op running and many more in its queue."""
    addresses, seconds = api.time_gemm(session, GEMM_SIZE)
    gemm = api.square_gemm(GEMM_SIZE, *addresses)
    submit = session.submit()
    submit.send(*[gemm] * min(MAX_QUEUED, int(QUEUED_S / seconds) + 1))
    submit.wait_for(1)
    ready()
    sys.stdin.read()


def read_unread(session, ready):
    """Asks for more than it ever takes: the interpreter stands still in the first response."""
    size = 1 << 20
    source = session.alloc(size)
    submit = session.submit()
    submit.send(*[api.read(source, size)] * 1000)
    submit.next()
    ready()
    sys.stdin.read()


ACTIVITIES = {
    "hold": hold,
    "idle": idle,
    "upload": upload,
    "compute": compute,
    "read_unread": read_unread,
}


def main():
    endpoint, activity, *options = sys.argv[1:]
    # A child that ends is to leave nothing, not even its exit status.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    client = api.Client(endpoint)
    ACTIVITIES[activity](client.open(client_name=activity), lambda: say_ready("--fork" in options))


if __name__ == "__main__":
    main()
