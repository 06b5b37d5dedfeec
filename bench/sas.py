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


def account_sas():
    """A query string that allows everything on blobs of the account until 2099."""
    fields = {
        "sv": VERSION,
        "ss": "b",
        "srt": "sco",
        "sp": "rwdlacu",
        "se": "2099-01-01T00:00:00Z",
    }
    # The order of "String to sign" for an account SAS of version 2020-12-06 and later: start,
    # IP range, protocol and encryption scope are left empty.
    lines = [ACCOUNT, fields["sp"], fields["ss"], fields["srt"], "", fields["se"], "", "",
             fields["sv"], "", ""]
    digest = hmac.new(base64.b64decode(KEY), "\n".join(lines).encode(), hashlib.sha256).digest()
    fields["sig"] = base64.b64encode(digest).decode()
    return urllib.parse.urlencode(fields)


def container_target():
    return f"/{ACCOUNT}/{CONTAINER}?restype=container&{account_sas()}"


def account_target():
    return f"/{ACCOUNT}/?comp=list&{account_sas()}"


def blob_target(name):
    return f"/{ACCOUNT}/{CONTAINER}/{name}?{account_sas()}"
