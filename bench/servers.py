"""The programs that are measured: how each is started, found ready, observed and stopped."""

import http.client
import os
import pathlib
import pwd
import shutil
import signal
import socket
import ssl
import subprocess
import time

import sas

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = ROOT / os.environ.get("BUILD", "build")
CLOCK_TICKS_PER_SEC = os.sysconf("SC_CLK_TCK")
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


class BenchError(Exception):
    """A measurement that cannot be believed: its row fails with this message."""


class NotServed(BenchError):
    """The program does not have the service a row asks for."""


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def listens(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def output_of(*command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          check=False)
    return done.stdout.strip()


def machine_busy_sec():
    """Processor time used by everybody since boot."""
    line = pathlib.Path("/proc/stat").read_text().partition("\n")[0]
    fields = [int(word) for word in line.split()[1:9]]  # guest time is part of user time already
    idle, waiting = fields[3], fields[4]
    return (sum(fields) - idle - waiting) / CLOCK_TICKS_PER_SEC


def process_cpu_sec(pid):
    """User and system time a process has used so far."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / CLOCK_TICKS_PER_SEC


class Server:
    """One program in a directory of its own.  Use it in a `with` statement: leaving stops it."""

    name = ""
    ready_sec_max = 30.0
    ready_targets = {
        "blob": sas.target("", "comp=list"),
        "queue": sas.target("", "comp=list"),
        "table": sas.target("Tables"),
        "file": sas.target("", "comp=list"),
    }

    def __init__(self, work, service="blob", **settings):
        self.directory = work / self.name.lower()
        self.service = service
        self.settings = settings
        self.tls = "cert" in settings  # with a key: names of files, for those who can
        self.port = free_port()  # of the service
        self.process = None
        self.log = None

    def command(self):
        raise NotImplementedError

    def prepare(self):
        """Write what the program needs before it starts."""

    @classmethod
    def version(cls):
        raise NotImplementedError

    # --- life ---

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.stop()

    def start(self):
        """Start on an empty directory; returns the seconds from exec to the first answer."""
        shutil.rmtree(self.directory, ignore_errors=True)
        self.directory.mkdir(parents=True)
        return self.start_again()

    def start_again(self):
        """Start on what a former process left; the same."""
        self.log = open(self.directory.parent / f"{self.name.lower()}.log", "wb")
        self.prepare()
        command = [str(word) for word in self.command()]
        started = time.perf_counter()
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=self.log,
                                        stderr=subprocess.STDOUT, cwd=self.directory)
        while not self.answers():
            if not self.serves():
                self.stop()
                raise NotServed(f"{self.name} does not serve {self.service}s")
            if self.process.poll() is not None:
                raise BenchError(f"{self.name} exited with {self.process.returncode} at start:\n"
                                 f"{self.log_text()}")
            if time.perf_counter() - started > self.ready_sec_max:
                self.stop()
                raise BenchError(f"{self.name} did not answer in {self.ready_sec_max} s:\n"
                                 f"{self.log_text()}")
            time.sleep(0.001)
        return time.perf_counter() - started

    def answers(self):
        """Whether the first request gets its 200; a refused connection means not yet."""
        target = self.ready_targets[self.service]
        try:
            status, _ = self.request("GET", target, headers={"Accept": "application/json"})
        except OSError:
            return False
        if status != 200:
            self.stop()
            raise BenchError(f"{self.name} answered {status} to {target}")
        return True

    def serves(self):
        """False when it is known that the service will never answer."""
        return True

    def stop(self):
        self.halt(signal.SIGTERM)
        shutil.rmtree(self.directory, ignore_errors=True)

    def halt(self, how):
        """End the process by a signal, and leave what it has stored."""
        if self.process.poll() is None:
            self.process.send_signal(how)
            try:
                self.process.wait(30)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self.log.close()

    def log_text(self):
        return pathlib.Path(self.log.name).read_text(errors="replace")[-2000:]

    # --- requests ---

    def url(self):
        return f"http{'s' * self.tls}://127.0.0.1:{self.port}"

    def connect(self):
        if self.tls:
            return http.client.HTTPSConnection("127.0.0.1", self.port, timeout=60,
                                               context=ssl._create_unverified_context())
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)

    def request(self, method, target, body=None, headers=None):
        connection = self.connect()
        try:
            return exchange(connection, method, target, body, headers)
        finally:
            connection.close()

    def demand(self, expected_status, method, target, body=None, headers=None):
        """A request that must have this answer; returns its body."""
        status, answer = self.request(method, target, body, headers)
        if status != expected_status:
            raise BenchError(f"{self.name} answered {status} to {method} {target}: {answer[:300]}")
        return answer

    def create_container(self, public=False):
        """`public`: whoever knows the name of a blob may read it."""
        headers = {"x-ms-blob-public-access": "blob"} if public else None
        self.demand(201, "PUT", sas.container_target(), headers=headers)

    def store(self, names, payloads):
        """Put one blob per name over one connection, payloads in turn."""
        connection = self.connect()
        for index, name in enumerate(names):
            status, _ = exchange(connection, "PUT", sas.blob_target(name),
                                 payloads[index % len(payloads)],
                                 {"x-ms-blob-type": "BlockBlob",
                                  "Content-Type": "application/octet-stream"})
            if status != 201:
                raise BenchError(f"{self.name} answered {status} to Put Blob {name}")
        connection.close()

    def expect(self, name, payload):
        """Fail unless the blob holds exactly this payload."""
        status, body = self.request("GET", sas.blob_target(name))
        if status != 200 or body != payload:
            raise BenchError(f"{self.name}: blob {name} is not what was stored "
                             f"(status {status}, {len(body)} bytes)")

    def expect_exists(self, name):
        """Fail unless there is such a blob."""
        self.demand(200, "GET", sas.blob_target(name))

    # --- observation ---

    def pids(self):
        """The process and its children (nginx's workers)."""
        found = [self.process.pid]
        for pid in found:
            tasks = pathlib.Path(f"/proc/{pid}/task")
            for task in tasks.iterdir():
                found += [int(child) for child in (task / "children").read_text().split()]
        return found

    def cpu_sec(self):
        """User and system time used so far."""
        return sum(process_cpu_sec(pid) for pid in self.pids())

    def rss_bytes(self):
        return sum(int(pathlib.Path(f"/proc/{pid}/statm").read_text().split()[1]) * PAGE_BYTES
                   for pid in self.pids())

    def peak_rss_bytes(self):
        """The largest resident size so far, of all processes together."""
        peak = 0
        for pid in self.pids():
            for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
                if line.startswith("VmHWM:"):
                    peak += int(line.split()[1]) * 1024
        return peak

    def written_bytes(self):
        """Bytes the processes caused to be written to the disk so far."""
        written = 0
        for pid in self.pids():
            for line in pathlib.Path(f"/proc/{pid}/io").read_text().splitlines():
                if line.startswith("write_bytes:"):
                    written += int(line.split()[1])
        return written


def exchange(connection, method, target, body=None, headers=None):
    """One request on an http.client connection; returns status and body."""
    connection.request(method, target, body, {"x-ms-version": sas.VERSION, **(headers or {})})
    response = connection.getresponse()
    return response.status, response.read()


class Zaffre(Server):
    name = "Zaffre"
    binary = BUILD / "zaffre"
    others_sec_max = 1.0  # from the listener of blobs to those of the other services

    def prepare(self):
        self.ports = {"blob": free_port(), "queue": 0, "table": 0, "file": 0, "admin": 0}
        self.ports[self.service] = self.port
        self.blobs_since = None

    def command(self):
        ports = [word for service, port in self.ports.items()
                 for word in (f"--{service}Port", port)]
        flags = [word for flag in self.settings.items() for word in (f"--{flag[0]}", flag[1])]
        return [self.binary, "--silent", "--location", self.directory, *ports, *flags]

    def serves(self):
        """A version without the service listens for blobs and for nothing else."""
        if self.service == "blob":
            return True
        if self.blobs_since is None and listens(self.ports["blob"]):
            self.blobs_since = time.perf_counter()
        return (self.blobs_since is None or
                time.perf_counter() - self.blobs_since < self.others_sec_max)

    @classmethod
    def version(cls):
        return output_of(cls.binary, "--version")


class Azurite(Server):
    name = "Azurite"
    package = ROOT / "bench" / "node_modules" / "azurite"

    def command(self):
        # Only one of its services, without the log of requests: its fastest form.  While it
        # lists thousands of blobs it attends to no connection for longer than they may idle.
        idle = ["--blobKeepAliveTimeout", 600] if self.service == "blob" else []
        return ["node", self.package / f"dist/src/{self.service}/main.js", "--silent",
                "--disableTelemetry", "--skipApiVersionCheck", "--location", self.directory,
                f"--{self.service}Port", self.port, *idle]

    @classmethod
    def version(cls):
        return output_of("node", cls.package / "dist/src/blob/main.js", "--version")


class Nginx(Server):
    """nginx as a server of static files, at the same paths as the blobs."""

    name = "nginx"
    ready_targets = {"blob": "/"}
    extra = ""

    def prepare(self):
        (self.directory / "www" / sas.ACCOUNT / sas.CONTAINER).mkdir(parents=True)
        (self.directory / "www" / "index.html").write_text("ready\n")
        (self.directory / "nginx.conf").write_text(self.configuration())

    def configuration(self):
        # Started by root, nginx would give its workers to a user who cannot read the directory.
        user = f"user {pwd.getpwuid(0).pw_name};" if os.geteuid() == 0 else ""
        temporary = "\n".join(f"    {kind}_temp_path temp-{kind};"
                              for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        return f"""
{user}
daemon off;
pid nginx.pid;
worker_processes auto;
error_log stderr;
events {{ worker_connections 1024; }}
http {{
    access_log off;
    sendfile on;
    tcp_nopush on;
    keepalive_requests 1000000000;
    default_type application/octet-stream;
    {self.extra}
{temporary}
    server {{
        listen 127.0.0.1:{self.port}{' ssl' * self.tls};
        {self.tls_configuration()}
        root www;
    }}
}}
"""

    def tls_configuration(self):
        if not self.tls:
            return ""
        # Its default is without the protocol that everybody speaks.
        return (f"ssl_certificate {self.settings['cert']}; "
                f"ssl_certificate_key {self.settings['key']}; ssl_protocols TLSv1.2 TLSv1.3;")

    def command(self):
        return ["nginx", "-p", self.directory, "-c", "nginx.conf", "-e", "stderr"]

    @classmethod
    def version(cls):
        return output_of("nginx", "-v").rpartition("/")[2]

    def create_container(self, public=False):
        """The directory is there from the start."""

    def path(self, name):
        return self.directory / "www" / sas.ACCOUNT / sas.CONTAINER / name

    def store(self, names, payloads):
        for index, name in enumerate(names):
            self.path(name).write_bytes(payloads[index % len(payloads)])


class NginxCached(Nginx):
    """The same with its files kept open: it no longer looks whether a file has changed."""

    name = "nginx-open-files"
    extra = "open_file_cache max=10000 inactive=600s; open_file_cache_valid 600s;"
