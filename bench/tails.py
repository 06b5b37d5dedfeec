"""How long the slowest of many small requests take, and what else may go on meanwhile.

A probe makes small requests at a fixed rate that the server can bear easily, and looks at their
99th percentile.  What disturbs it runs beside it, in threads and processes of its own, and must not
fail either.
"""

import contextlib
import os
import selectors
import socket
import subprocess
import threading
import time

import load
import sas
import transfer
from measure import Sample
from rows import KIB
from servers import BenchError, process_cpu_sec
from steps import Cycle, Step, pieces_file

RATE = 1000  # requests of a probe in a second
CONNECTIONS = 8
READ = 1000  # blobs that are read in turn
SLOW_TURNS = 10  # in which slow clients send
BLOCK_BLOB = ("x-ms-blob-type: BlockBlob",)


class Probe:
    """Small requests to a container of their own, which it makes."""

    def __init__(self, server, container="probe"):
        self.server = server
        self.container = container
        server.demand(201, "PUT", sas.target(container, "restype=container"))
        pieces = pieces_file(server, "probe", KIB, 64)
        fill = Cycle(server, "probe-fill", 32, [self.put("get-@{number}", pieces)])
        fill.run(cycles=READ)
        self.reads = Cycle(server, "probe-read", CONNECTIONS, [
            Step("GET", self.target("get-@{blob}"), 200, contains=(1, f"Content-Length: {KIB}")),
        ], lets=[("blob", "random", 1, READ, 1, 0)])
        self.writes = Cycle(server, "probe-write", CONNECTIONS, [self.put("put-@{number}", pieces)])

    def target(self, name):
        return sas.target(f"{self.container}/{name}")

    def put(self, name, pieces):
        return Step("PUT", self.target(name), 201, headers=BLOCK_BLOB, pieces=pieces)

    def read(self, seconds, beside=None):
        return self.sample(self.reads, seconds, beside)

    def write(self, seconds, beside=None):
        return self.sample(self.writes, seconds, beside)

    def sample(self, cycle, seconds, beside):
        """A sample whose value is the 99th percentile in milliseconds.

        CPU and disk are left out: they are those of all that goes on.  `beside` is a process of
        ours that disturbs the server, or None.
        """
        before_sec = process_cpu_sec(beside.pid) if beside else 0.0
        began_at = time.perf_counter()
        sample, _ = load.observe(self.server, lambda: cycle.run(seconds=seconds, rate=RATE))
        if beside:
            spent_sec = process_cpu_sec(beside.pid) - before_sec
            part = spent_sec / (time.perf_counter() - began_at) / os.cpu_count()
            sample.others = max(0.0, sample.others - part)
        return Sample(value=sample.p99_us / 1000, p50_us=sample.p50_us, p99_us=sample.p99_us,
                      rss_bytes=sample.rss_bytes, others=sample.others)


# --- what goes on meanwhile ---

@contextlib.contextmanager
def uploads(server, source):
    """Uploads of a large blob, one after the other, each over the one before the last."""
    stop = threading.Event()
    failures = []

    def run():
        turn = 0
        while not stop.is_set() and not failures:
            try:
                transfer.upload(server, f"upload-{turn % 2}", source)
            except (BenchError, OSError) as error:
                failures.append(error)
            turn += 1

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
    if failures:
        raise BenchError(f"an upload failed: {failures[0]}")


@contextlib.contextmanager
def puts(server, size_bytes, rate):
    """Puts of new blobs at a fixed rate, so that RocksDB always has tables to write and merge."""
    cycle = Cycle(server, "puts", 32, [
        Step("PUT", sas.blob_target("puts-@{run}-@{number}"), 201, headers=BLOCK_BLOB,
             pieces=pieces_file(server, "puts", size_bytes, 64)),
    ])
    cycle.number = time.time_ns() // 1000 % 10**12
    process = subprocess.Popen(cycle.command(600, 0, "--rate", rate), stdout=subprocess.DEVNULL,
                               stderr=subprocess.PIPE, text=True)
    try:
        yield process
        if process.poll() is not None:
            raise BenchError(f"the puts ended: {process.stderr.read().strip()}")
    finally:
        process.terminate()
        process.wait()
        process.stderr.close()


@contextlib.contextmanager
def slow_bodies(server, clients):
    """Clients that send a few bytes of a body every 50 ms, and never all of it.

    They take turns, a tenth of them every 5 ms: a hundred that all send at the same instant are one
    client with bursts, whose pieces wait for each other.
    """
    stop = threading.Event()
    failures = []
    head = ("PUT {target} HTTP/1.1\r\nHost: 127.0.0.1\r\nx-ms-version: " + sas.VERSION +
            "\r\nx-ms-blob-type: BlockBlob\r\nContent-Length: 1048576\r\n\r\n")
    sockets = []
    for index in range(clients):
        client = socket.create_connection(("127.0.0.1", server.port), 10)
        client.sendall(head.format(target=sas.blob_target(f"slow-{index}")).encode())
        client.setblocking(False)
        sockets.append(client)

    def run():
        with selectors.DefaultSelector() as answers:
            for client in sockets:
                answers.register(client, selectors.EVENT_READ)
            turn = 0
            while not stop.wait(0.05 / SLOW_TURNS) and not failures:
                for client in sockets[turn::SLOW_TURNS]:
                    client.send(b"0123456789abcdef")
                turn = (turn + 1) % SLOW_TURNS
                if answers.select(0):
                    failures.append("a slow client was answered before its body was there")

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
        for client in sockets:
            client.close()
    if failures:
        raise BenchError(failures[0])


class Waste:
    """Containers of blobs that are there to be deleted: rows and extents to be reclaimed."""

    def __init__(self, server, small, large):
        self.server = server
        self.small = small  # blobs inside the metadata
        self.large = large  # blobs in extents
        self.turn = 0

    def fill(self):
        self.turn += 1
        name = f"waste-{self.turn}"
        self.server.demand(201, "PUT", sas.target(name, "restype=container"))
        for count, size_bytes in ((self.small, KIB), (self.large, 16 * KIB)):
            Cycle(self.server, "waste", 64, [
                Step("PUT", sas.target(f"{name}/{size_bytes}-@{{number}}"), 201, headers=BLOCK_BLOB,
                     pieces=pieces_file(self.server, "waste", size_bytes, 64)),
            ]).run(cycles=count)
        load.settle(self.server)

    def delete(self):
        """Returns the seconds until it is answered."""
        started = time.perf_counter()
        self.server.demand(202, "DELETE", sas.target(f"waste-{self.turn}", "restype=container"))
        return time.perf_counter() - started
