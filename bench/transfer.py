"""Transfers of one large blob, beside `dd`.

The client is a plain socket: it sends a file with sendfile and receives into one buffer, so that
of the two cores it takes as little as a client can.
"""

import mmap
import os
import socket
import subprocess
import time

import load
import sas
from measure import Sample
from servers import BenchError

MIB = 1 << 20
BUFFER_BYTES = 1 * MIB


def source_in(work, size_bytes):
    """A file of random bytes, in the page cache and on the disk; made when it is first used."""
    path = work / f"source-{size_bytes}"
    if not path.exists():
        with open(path, "wb") as file:
            for _ in range(size_bytes // MIB):
                file.write(os.urandom(MIB))
            file.flush()
            os.fsync(file.fileno())
    return path


def read_head(client):
    """Receive up to the end of the header; returns it and what came after it."""
    received = b""
    while b"\r\n\r\n" not in received:
        piece = client.recv(65536)
        if not piece:
            raise BenchError(f"connection closed in the header: {received[:300]!r}")
        received += piece
    head, _, rest = received.partition(b"\r\n\r\n")
    return head.decode("latin-1"), rest


def status_of(head):
    return int(head.split(" ", 2)[1])


def upload(server, name, source):
    """Put Blob of a file in one request; returns the seconds until it is acknowledged."""
    size_bytes = os.path.getsize(source)
    head = (f"PUT {sas.blob_target(name)} HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n"
            f"x-ms-version: {sas.VERSION}\r\nx-ms-blob-type: BlockBlob\r\n"
            f"Content-Type: application/octet-stream\r\nContent-Length: {size_bytes}\r\n\r\n")
    with open(source, "rb") as file:
        started = time.perf_counter()
        with socket.create_connection(("127.0.0.1", server.port), 120) as client:
            client.sendall(head.encode())
            client.sendfile(file)
            answer, rest = read_head(client)
        elapsed_sec = time.perf_counter() - started
    if status_of(answer) != 201:
        raise BenchError(f"{server.name} answered the upload with {answer} {rest[:300]!r}")
    return elapsed_sec


def download(server, name, source, compare=False):
    """Get Blob; returns the seconds until the last byte.  `compare` checks each against source."""
    size_bytes = os.path.getsize(source)
    head = (f"GET {sas.blob_target(name)} HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n"
            f"x-ms-version: {sas.VERSION}\r\n\r\n")
    buffer = bytearray(BUFFER_BYTES)
    with open(source, "rb") as file, \
            mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as expected:
        started = time.perf_counter()
        with socket.create_connection(("127.0.0.1", server.port), 120) as client:
            client.sendall(head.encode())
            answer, rest = read_head(client)
            if status_of(answer) != 200:
                raise BenchError(f"{server.name} answered the download with {answer}")
            received = len(rest)
            same = expected[:received] == rest
            while received < size_bytes:
                count = client.recv_into(buffer)
                if count == 0:
                    raise BenchError(f"{server.name} sent {received} of {size_bytes} bytes")
                if compare:
                    same = same and buffer[:count] == expected[received:received + count]
                received += count
        elapsed_sec = time.perf_counter() - started
    if not same or received != size_bytes:
        raise BenchError(f"{server.name} did not return the bytes that were uploaded")
    return elapsed_sec


def dd(source, target):
    """Copy a file and sync it, as `dd conv=fsync` does; returns the seconds."""
    started = time.perf_counter()
    subprocess.run(["dd", f"if={source}", f"of={target}", "bs=1M", "conv=fsync", "status=none"],
                   check=True)
    elapsed_sec = time.perf_counter() - started
    os.unlink(target)
    return elapsed_sec


# --- rounds ---

def timed(server, move, source, *arguments):
    """One transfer of the whole of `source`, with the server's CPU time and peak memory."""
    cpu_sec = server.cpu_sec()
    elapsed_sec = move(server, *arguments, source)
    return Sample(value=os.path.getsize(source) / MIB / elapsed_sec,
                  cpu_us=(server.cpu_sec() - cpu_sec) * 1e6,
                  rss_bytes=server.peak_rss_bytes())


def delete(server, name):
    """Away with what was measured, so that the next round finds as much room as this one did."""
    server.demand(202, "DELETE", sas.blob_target(name))


def copy(server, source, target):
    """A copy by dd, while neither the disk nor the server has anything else to do."""
    load.settle(server)
    return Sample(value=os.path.getsize(source) / MIB / dd(source, target))


def uploads_and_copies(server, source, target, rounds):
    """Uploads and copies in turn, the other one first in every second turn.

    Both write a file that is not there yet, beside the same few others: what a round has written
    is deleted before the next.  Nothing waits to be written when a round begins.
    """
    def one_upload():
        load.settle(server)
        sample = timed(server, upload, source, "upload")
        delete(server, "upload")
        return sample

    return in_turn(one_upload, lambda: copy(server, source, target), rounds)


def in_turn(ours, theirs, rounds):
    """Samples of both, of which the n-th belong together; who begins changes from turn to turn."""
    pairs = []
    for turn in range(rounds):
        if turn % 2:
            first = ours()
            pairs.append((first, theirs()))
        else:
            first = theirs()
            pairs.append((ours(), first))
    return [list(samples) for samples in zip(*pairs)]


def downloads_in_turn(ours, theirs, name, source, rounds):
    """Downloads of the same name from two servers, after one each that compares every byte."""
    for server in (ours, theirs):
        download(server, name, source, compare=True)
        download(server, name, source)
    return in_turn(lambda: timed(ours, download, source, name),
                   lambda: timed(theirs, download, source, name), rounds)
