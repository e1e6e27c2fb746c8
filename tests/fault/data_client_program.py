"""A client of the data channel in a process of its own, for tests that end it in the middle of what it does.

    data_client_program.py FOLDER TCP_ENDPOINT ACTIVITY

FOLDER is the daemon's. Prints "ready" once it is in the middle, and goes on until it is killed.
"""

import os
import signal
import sys
import types

import api
import data_channel as data

MIB = 1 << 20


def idle(channel):
    channel.do(data.alloc(MIB))
    yield
    signal.pause()


def write(channel):
    """Is always in the middle of a write."""
    target = channel.value(data.alloc(MIB))
    for i in range(1 << 30):
        channel.send(data.write(target, bytes(MIB)), 60)
        if i == 8:
            yield


def read_and_take_nothing(channel):
    source = channel.value(data.alloc(MIB))
    channel.send(data.read(source, MIB) * 200)
    channel.next()
    yield
    signal.pause()


def copy_shared(channel):
    """Has large copies both ways in flight all the time."""
    size = 32 * MIB
    device = channel.value(data.alloc(size))
    host, _ = channel.alloc_host(size)
    for i in range(1 << 30):
        channel.do(
            data.shared_copy(data.WRITE_SHARED, device, size, host),
            data.shared_copy(data.READ_SHARED, device, size, host),
        )
        if i == 1:
            yield


# With what options each channel is opened.
ACTIVITIES = {
    "idle": (idle, {"shared_memory": True}),
    "write": (write, {"shared_memory": True}),
    "write_frames": (write, {}),
    "write_frames_over_tcp": (write, {"over_tcp": True}),
    "read": (read_and_take_nothing, {"shared_memory": True}),
    "read_frames": (read_and_take_nothing, {}),
    "copy_shared": (copy_shared, {"shared_memory": True}),
}


def main():
    folder, tcp_endpoint, activity = sys.argv[1:]
    run, options = ACTIVITIES[activity]
    socket_path = os.path.join(folder, "s")
    daemon = types.SimpleNamespace(socket_path=socket_path, tcp_endpoint=tcp_endpoint)
    endpoint = tcp_endpoint if "over_tcp" in options else f"unix:{socket_path}"
    client = api.Client(endpoint)
    session = client.open(client_name=activity)
    for _ in run(data.attach(daemon, session.info.secret, **options)):
        print("ready", flush=True)


if __name__ == "__main__":
    main()
