"""Signatures of papers: who holds the private key wrote exactly this; everybody who has the public one can tell.

The checksum of a receipt finds accidents, and is no signature: whoever edits a paper can compute it anew. A signature
(Ed25519, RFC 8032) is made with a key that nobody else has. It stands in the paper itself, over the canonical JSON of
all the rest.
"""

import base64
import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from divulge.errors import DivulgeError, InputFileError
from divulge.extras import require
from divulge.files.channels.as_json import read_document
from divulge.files.opening import name_of, opened
from divulge.late import late
from divulge.model.record import Record
from divulge.model.shown import Shown

SCHEME = "Ed25519"
PART = "signature"
"""The part of a paper that holds its signature."""

_MOST = 1 << 16
"""Bytes of the file of a key, at most."""

_MADE = "openssl genpkey -algorithm ed25519 -out key.pem makes one, openssl pkey -in key.pem -pubout its public key."


@dataclass(frozen=True, eq=False)
class Signature(Shown, Record):
    """Whether a paper is signed with a key, and what is wrong if not.

    Attributes
    ----------
    valid : bool
    reason : str
        Empty where it is valid.
    fingerprint : SHA-256 of the public key, in hexadecimal, by which people compare keys

    Examples
    --------
    >>> Signature(False, "it is not signed", "").valid
    False
    """

    valid: bool
    reason: str
    fingerprint: str


def signed(content: bytes, private: Any) -> bytes:
    """Return the text of a paper in JSON with its signature as the last part."""
    document = json.loads(content)
    document.pop(PART, None)
    value = base64.b64encode(private.sign(_canonical(document))).decode()
    part = {"scheme": SCHEME, "key": _fingerprint(private.public_key()), "value": value}
    whole = content.decode().rstrip()
    return f'{whole.removesuffix("}").rstrip()},\n "{PART}": {json.dumps(part)}}}\n'.encode()


def verify(paper: str | os.PathLike[str], key: str | os.PathLike[str]) -> Signature:
    """Return whether a receipt, codebook or keeper's record is as its keeper signed it, by the keeper's public key.

    Parameters
    ----------
    paper : path of a paper in JSON
    key : path of the public key, PEM or OpenSSH

    Returns
    -------
    Signature

    Raises
    ------
    InputFileError
        When the paper is no JSON object, or the key no public key of Ed25519; and when a signed receipt says something
        that does not follow from the rest of it: a signature makes no number true.

    References
    ----------
    Josefsson, Liusvaara, "Edwards-Curve Digital Signature Algorithm (EdDSA)", RFC 8032.

    Examples
    --------
    >>> verify("no-such.receipt.json", "no-such.pem")
    Traceback (most recent call last):
    divulge.errors.InputFileError: no-such.pem: there is no such file.
    """
    public = public_key(key)
    fingerprint = _fingerprint(public)
    whole = read_document(paper)
    if not isinstance(whole, dict):
        raise InputFileError(f"{name_of(paper)}: must be a paper of a release, in JSON; it is something else.")
    document = {name: value for name, value in whole.items() if name != PART}
    part = whole.get(PART)
    if part is None:
        return Signature(False, "it is not signed", fingerprint)
    if not isinstance(part, Mapping) or part.get("scheme") != SCHEME or not isinstance(part.get("value"), str):
        return Signature(False, "its signature is malformed", fingerprint)
    try:
        value = base64.b64decode(part["value"], validate=True)
        if base64.b64encode(value).decode() != part["value"]:  # the last letters may mean the same bytes
            return Signature(False, "its signature is malformed", fingerprint)
        public.verify(value, _canonical(document))
    except (require("cryptography.exceptions", "release").InvalidSignature, ValueError):
        other = part.get("key") != fingerprint
        reason = "it was signed with another key, or edited" if other else "it was edited after it was signed"
        return Signature(False, reason, fingerprint)
    late("divulge.publishing.published:require_consistent")(whole, name_of(paper))
    return Signature(True, "", fingerprint)


def private_key(path: str | os.PathLike[str]) -> Any:
    """Return the private key in a file, PEM or OpenSSH without a passphrase; anything else is refused."""
    return _key(path, "private", "Ed25519PrivateKey")


def public_key(path: str | os.PathLike[str]) -> Any:
    """Return the public key in a file, PEM or OpenSSH."""
    return _key(path, "public", "Ed25519PublicKey")


def _key(path: str | os.PathLike[str], kind: str, name: str) -> Any:
    load = require("cryptography.hazmat.primitives.serialization", "release")
    kinds = require("cryptography.hazmat.primitives.asymmetric.ed25519", "release")
    with opened(path) as stream:
        content = stream.read(_MOST)
    secret = (None,) if kind == "private" else ()
    for form in ("pem", "ssh"):
        try:
            found = getattr(load, f"load_{form}_{kind}_key")(content, *secret)
        except Exception:  # what a file that is no key, or is locked, may raise is open-ended
            continue
        if isinstance(found, getattr(kinds, name)):
            return found
    raise InputFileError(
        f"{name_of(path)}: must be a {kind} key of {SCHEME}, PEM or OpenSSH, without a passphrase. Hint: {_MADE}"
    )


def _fingerprint(public: Any) -> str:
    load = require("cryptography.hazmat.primitives.serialization", "release")
    return hashlib.sha256(public.public_bytes(load.Encoding.Raw, load.PublicFormat.Raw)).hexdigest()


def checksum(body: Mapping[str, Any]) -> str:
    """Return the checksum of a paper that is written as one part, which finds accidents."""
    return hashlib.sha256(json.dumps(body, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def _canonical(document: Mapping[str, Any]) -> bytes:
    try:
        return json.dumps(document, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()
    except ValueError:
        raise DivulgeError("must be JSON without numbers that are none (NaN, Infinity).") from None
