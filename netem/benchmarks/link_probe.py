#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures TCP over a link between two hosts, in the same way on any emulator.

  link_probe.py serve                     in one host: waits for measurements until it is killed
  link_probe.py measure ADDRESS RATE      in the other: prints one JSON object; RATE is the cap in bit/s

Both ends read the same monotonic clock of the machine, so the time of a message is one way.
"""
import json
import socket
import statistics
import struct
import sys
import threading
import time

PORT = 5300
GOODPUT_OF_CAP = 1448 / 1514
BLOCK = bytes(1 << 16)
SETTLE_S, MEASURE_S, REPETITIONS = 0.3, 0.8, 3


def receive_exactly(connection, size):
    buffer = bytearray(1 << 18)
    while size > 0:
        got = connection.recv_into(buffer, min(size, len(buffer)))
        if got == 0:
            raise ConnectionError("the other end closed the connection")
        size -= got


def receive_rate(connection):
    """Returns payload in bit/s, after a warm-up of the flow."""
    buffer = bytearray(1 << 18)
    start, measured_from, size = time.monotonic(), None, 0
    while True:
        got = connection.recv_into(buffer)
        now = time.monotonic()
        if got == 0:
            raise ConnectionError("the other end closed the connection")
        if measured_from is None:
            if now - start >= SETTLE_S:
                measured_from = now
            continue
        size += got
        if now - start >= SETTLE_S + MEASURE_S:
            return 8 * size / (now - measured_from)


def send_until_closed(connection):
    try:
        while True:
            connection.sendall(BLOCK)
    except OSError:
        pass


def answer(connection):
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    line = b""
    while not line.endswith(b"\n"):
        line += connection.recv(1)
    request = json.loads(line)
    try:
        if request["do"] == "echo":
            while byte := connection.recv(1):
                connection.sendall(byte)
        elif request["do"] == "receive":
            connection.sendall(struct.pack("d", receive_rate(connection)))
        elif request["do"] == "send":
            send_until_closed(connection)
        elif request["do"] == "messages":
            while True:
                receive_exactly(connection, request["bytes"])
                connection.sendall(struct.pack("d", time.monotonic()))
    except ConnectionError:
        pass
    finally:
        connection.close()


def serve():
    with socket.create_server(("", PORT), backlog=64) as listener:
        while True:
            connection, _ = listener.accept()
            threading.Thread(target=answer, args=(connection,), daemon=True).start()


class Client:
    def __init__(self, address, rate_bit_per_s):
        self.address, self.rate = address, rate_bit_per_s

    def ask(self, **request):
        for attempt in range(50):  # the server may not be there yet
            try:
                connection = socket.create_connection((self.address, PORT), timeout=20)
                break
            except ConnectionRefusedError:
                time.sleep(0.1)
        else:
            raise TimeoutError(f"there is no server at {self.address}")
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.sendall(json.dumps(request).encode() + b"\n")
        return connection

    def flow(self, rates, index, direction):
        connection = self.ask(do="receive" if direction == "there" else "send")
        if direction == "there":
            sender = threading.Thread(target=send_until_closed, args=(connection,), daemon=True)
            sender.start()
            answer = b""
            while len(answer) < 8:
                answer += connection.recv(8 - len(answer))
            rates[index] = struct.unpack("d", answer)[0]
        else:
            rates[index] = receive_rate(connection)
        try:
            connection.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        connection.close()

    def flows(self, directions):
        """Returns each flow's goodput as a share of what the cap allows. All flows run at the same time."""
        rates = [0.0] * len(directions)
        threads = [threading.Thread(target=self.flow, args=(rates, i, d)) for i, d in enumerate(directions)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return [rate / self.rate / GOODPUT_OF_CAP for rate in rates]

    def message(self, size, count=9, idle_s=0.1):
        """Returns the median time of a message after a pause, divided by the ideal time."""
        connection = self.ask(do="messages", bytes=size)
        data, times = bytes(size), []
        for i in range(count + 1):
            time.sleep(idle_s)
            start = time.monotonic()
            connection.sendall(data)
            answer = b""
            while len(answer) < 8:
                answer += connection.recv(8 - len(answer))
            if i > 0:  # the first one warms the connection up
                times.append(struct.unpack("d", answer)[0] - start)
        connection.close()
        return statistics.median(times) * self.rate * GOODPUT_OF_CAP / 8 / size

    def round_trip_s(self, count=100):
        connection = self.ask(do="echo")
        times = []
        for _ in range(count):
            start = time.monotonic()
            connection.sendall(b"x")
            connection.recv(1)
            times.append(time.monotonic() - start)
        connection.close()
        return min(times)

    def measure(self):
        one = [self.flows(["there"])[0] for _ in range(REPETITIONS)]
        four = [self.flows(["there"] * 4) for _ in range(REPETITIONS)]
        both = [self.flows(["there", "back"]) for _ in range(REPETITIONS)]
        return {
            "rate_bit_per_s": self.rate,
            "round_trip_s": self.round_trip_s(),
            "one_flow_ratio": statistics.median(one),
            "four_flows_ratio": statistics.median(sum(flows) for flows in four),
            "four_flows_jain": statistics.median(
                sum(flows) ** 2 / 4 / sum(f * f for f in flows) for flows in four),
            "both_there_ratio": statistics.median(there for there, _ in both),
            "both_back_ratio": statistics.median(back for _, back in both),
            "message_64KiB_ratio": self.message(1 << 16),
            "message_1MiB_ratio": self.message(1 << 20),
        }


if __name__ == "__main__":
    if sys.argv[1:] == ["serve"]:
        serve()
    elif len(sys.argv) == 4 and sys.argv[1] == "measure":
        print(json.dumps(Client(sys.argv[2], float(sys.argv[3])).measure()))
    else:
        sys.exit(__doc__)
