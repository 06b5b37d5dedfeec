"""Account SAS for the well-known development account, and the paths it opens."""

import base64
import hashlib
import hmac
import urllib.parse

ACCOUNT = "devstoreaccount1"
KEY = ("Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6"
       "tq/K1SZFPTOtr/KBHBeksoGMGw==")
VERSION = "2021-12-02"
CONTAINER = "bench"


def signed(fields, lines):
    """The fields with the signature of these lines, as a query string."""
    digest = hmac.new(base64.b64decode(KEY), "\n".join(lines).encode(), hashlib.sha256).digest()
    return urllib.parse.urlencode({**fields, "sig": base64.b64encode(digest).decode()})


def account_sas():
    """A query string that allows everything in the account until 2099."""
    fields = {
        "sv": VERSION,
        "ss": "bqtf",
        "srt": "sco",
        "sp": "rwdlacup",
        "se": "2099-01-01T00:00:00Z",
    }
    # The order of "String to sign" for an account SAS of version 2020-12-06 and later: start,
    # IP range, protocol and encryption scope are left empty.
    lines = [ACCOUNT, fields["sp"], fields["ss"], fields["srt"], "", fields["se"], "", "",
             fields["sv"], "", ""]
    return signed(fields, lines)


def blob_sas(name):
    """A service SAS: a query string that allows to read and write one blob until 2099."""
    fields = {
        "sv": VERSION,
        "sr": "b",
        "sp": "rcw",
        "se": "2099-01-01T00:00:00Z",
    }
    # Left empty: start, the id of a policy, IP range, protocol; then snapshot, encryption scope and
    # the five headers of the answer.
    lines = [fields["sp"], "", fields["se"], f"/blob/{ACCOUNT}/{CONTAINER}/{name}", "", "", "",
             fields["sv"], fields["sr"], "", "", "", "", "", "", ""]
    return signed(fields, lines)


def target(path, query=""):
    """A path of the account, with the parameters of a query and the SAS."""
    return f"/{ACCOUNT}/{path}?{query}{'&' if query else ''}{account_sas()}"


def container_target(query=""):
    return target(CONTAINER, f"restype=container{'&' if query else ''}{query}")


def blob_path(name):
    """Of a blob, for those who need no SAS."""
    return f"/{ACCOUNT}/{CONTAINER}/{name}"


def blob_target(name, query=""):
    return target(f"{CONTAINER}/{name}", query)
