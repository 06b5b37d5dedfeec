"""The rows of what keeps strangers out: signatures, and TLS."""

import json
import ssl
import socket
import subprocess

import load
import sas
from measure import Goal, Sample, Workload
from rows import KIB, Row, guarded, say
from servers import BUILD, BenchError, Nginx, Zaffre

AUTH_COST = BUILD / "bench" / "auth_cost"
CONNECTIONS = 32

SHARED_KEY, ACCOUNT_SAS, SERVICE_SAS = (
    Workload(f"check of {name}", "µs", [Goal(at_most=3)])
    for name in ("a Shared Key signature", "an account SAS", "a service SAS"))
TLS = Workload(f"GET 1 KiB over TLS, SAS, {CONNECTIONS} connections", "/s",
               [Goal("nginx", at_least=0.8)])


# --- signatures ---

def measure_auth(_, plan):
    say("checks of signatures")
    command = [AUTH_COST, "--account-sas", sas.account_sas(),
               "--service-sas", sas.blob_sas("get-0"), "--blob", "get-0"]
    with guarded("Zaffre", SHARED_KEY, ACCOUNT_SAS, SERVICE_SAS):
        samples = load.rounds_of_several(plan, lambda _: auth_round(command))
        for workload, mine in zip((SHARED_KEY, ACCOUNT_SAS, SERVICE_SAS), samples):
            workload.add("Zaffre", list(mine))


def auth_round(command):
    others = load.Others()
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          check=False)
    if done.returncode:
        raise BenchError(done.stderr.strip())
    costs = json.loads(done.stdout)
    part = others.part()
    return [Sample(value=costs[kind] / 1000, others=part)
            for kind in ("sharedkey", "account_sas", "service_sas")]


# --- TLS ---

def make_certificate(work):
    """A key of the usual kind, and a certificate signed with itself."""
    cert, key = work / "cert.pem", work / "key.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                    "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", key, "-out", cert,
                    "-days", "30", "-subj", "/CN=127.0.0.1"],
                   check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return {"cert": cert, "key": key}


def negotiated(server):
    """Protocol and cipher, as a client with the defaults of wrk's library gets them."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    with socket.create_connection(("127.0.0.1", server.port), 10) as plain, \
            context.wrap_socket(plain) as client:
        return f"{client.version()}, {client.cipher()[0]}"


def measure_tls(work, plan):
    say(f"{TLS.title}: Zaffre and nginx in turn")
    files = make_certificate(work)
    with guarded("Zaffre", TLS), Zaffre(work, **files) as ours, Nginx(work, **files) as theirs:
        ciphers = negotiated(ours), negotiated(theirs)
        if ciphers[0] != ciphers[1]:
            raise BenchError(f"different ciphers: Zaffre {ciphers[0]}, nginx {ciphers[1]}")
        TLS.title += f", {ciphers[0]}"
        ours.create_container()
        gets = [load.Gets(server, KIB, 1000, CONNECTIONS, plan) for server in (ours, theirs)]
        TLS.add_pairs("nginx", *load.pairs_of(*gets, plan))


def rows(_):
    return [
        Row("auth", "checks of Shared Key and SAS", [SHARED_KEY, ACCOUNT_SAS, SERVICE_SAS],
            measure_auth, quick=True),
        Row("tls", "Get Blob of 1 KiB over TLS", [TLS], measure_tls, quick=True),
    ]
