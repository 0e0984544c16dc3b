"""The private key that identifies a course's hub to the learning platform, and its public half."""

import hashlib
import json
import os
from pathlib import Path

import jwt
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from autograder.errors import UserError, named_by_user

KEY = "lti_key.pem"  # the key's file in the course folder


def make_key(course: Path) -> rsa.RSAPrivateKey:
    """Return the course's key. Make it, readable only by its owner, if the course has none. Raises UserError."""
    path = course / KEY
    if not path.exists():
        key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        pem = key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        with named_by_user(path), os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(pem)
    return read_key(course)


def read_key(course: Path) -> rsa.RSAPrivateKey:
    """Return the course's key. Raises UserError if it is missing, damaged, or readable by others."""
    path = course / KEY
    if not path.exists():
        raise UserError(f"{path} is missing: `autograder passback --key` makes it and prints what to register")
    with named_by_user(path):
        pem, mode = path.read_bytes(), path.stat().st_mode
    if mode & 0o077:
        raise UserError(
            f"other accounts may use {path} (its mode is {mode & 0o777:o}): run `chmod 600` on it. If one could have "
            "read it, delete it, make a new one with `autograder passback --key`, and register that"
        )
    try:
        key = serialization.load_pem_private_key(pem, password=None)
    except ValueError as error:
        raise UserError(f"{path} is not a private key: restore it from a backup, or make a new one") from error
    if not isinstance(key, rsa.RSAPrivateKey):
        raise UserError(f"{path} is not an RSA key: delete it, and make a new one with `autograder passback --key`")
    return key


def public_pem(key: rsa.RSAPrivateKey) -> str:
    """Return the public half as PEM, which Moodle takes."""
    form = serialization.PublicFormat.SubjectPublicKeyInfo
    return key.public_key().public_bytes(serialization.Encoding.PEM, form).decode()


def public_jwk(key: rsa.RSAPrivateKey) -> str:
    """Return the public half as a JSON Web Key (RFC 7517), which Canvas takes."""
    public = jwt.algorithms.RSAAlgorithm.to_jwk(key.public_key(), as_dict=True)
    fields = {"kty": "RSA", "alg": "RS256", "use": "sig", "kid": key_id(key)}
    return json.dumps(fields | {name: public[name] for name in ("n", "e")})


def key_id(key: rsa.RSAPrivateKey) -> str:
    """Return the name by which the platform finds the public half in a set of keys."""
    return hashlib.sha256(public_pem(key).encode()).hexdigest()[:16]
