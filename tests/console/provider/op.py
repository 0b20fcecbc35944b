"""A little OpenID provider on loopback: discovery, keys, tokens, who somebody is. It signs what it is told to.

It looks at what a real one would: the secret, the way back, the PKCE verifier, and that a code is used once.
"""

import base64
import hashlib
import json
import secrets
import time
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any
from urllib.parse import parse_qs, urlsplit

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, rsa

CLIENT, SECRET = "rekindle", "a secret of the tests"
RSA = rsa.generate_private_key(public_exponent=65537, key_size=2048)
FORGERS = rsa.generate_private_key(public_exponent=65537, key_size=2048)
EC = ec.generate_private_key(ec.SECP256R1())
ALGORITHMS = {"RS256": (RSA, jwt.algorithms.RSAAlgorithm), "ES256": (EC, jwt.algorithms.ECAlgorithm)}


@dataclass
class Provider:
    """What it says next can be spoiled: `claims` go over what is right (None removes one)."""

    algorithm: str = "RS256"
    issuer: str = ""
    claims: dict[str, Any] = field(default_factory=dict)
    userinfo: dict[str, Any] = field(default_factory=dict)
    document: dict[str, Any] = field(default_factory=dict)
    signing_key: Any = None
    signing_algorithm: str = ""
    kid: str = "one"
    token_status: int = 200
    token_body: bytes | None = None
    codes: dict[str, dict[str, str]] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def start(self) -> None:
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), door(self))
        self.server.daemon_threads = True
        self.base = f"http://127.0.0.1:{self.server.server_address[1]}"
        self.issuer = self.base
        self.thread = Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        self.thread.start()

    def end(self) -> None:
        self.server.shutdown()
        self.server.server_close()
        self.thread.join(5)

    def consent(self, address: str) -> dict[str, str]:
        """The person signs in there: what the way back carries."""
        asked = {name: values[0] for name, values in parse_qs(urlsplit(address).query).items()}
        code = secrets.token_urlsafe(16)
        self.codes[code] = asked
        return {"code": code, "state": asked["state"]}

    def id_token(self, nonce: str) -> str:
        now = int(time.time())
        claims = {
            "iss": self.issuer,
            "sub": "subject-7",
            "aud": CLIENT,
            "iat": now,
            "exp": now + 300,
            "nonce": nonce,
            "groups": ["staff"],
            "preferred_username": "Ana",
            "email": "root@example.org",
        }
        claims = {name: value for name, value in {**claims, **self.claims}.items() if value is not None}
        key = None if self.signing_algorithm == "none" else self.signing_key or ALGORITHMS[self.algorithm][0]
        return jwt.encode(claims, key, self.signing_algorithm or self.algorithm, headers={"kid": self.kid})

    def discovery(self) -> dict[str, Any]:
        names = {"authorization": "authorize", "token": "token", "userinfo": "userinfo"}
        found = {f"{name}_endpoint": f"{self.base}/{path}" for name, path in names.items()}
        return {"issuer": self.issuer, "jwks_uri": f"{self.base}/jwks", **found, **self.document}

    def jwks(self) -> dict[str, Any]:
        key, kind = ALGORITHMS[self.algorithm]
        public = json.loads(kind.to_jwk(key.public_key()))
        return {"keys": [{**public, "kid": "one", "alg": self.algorithm, "use": "sig"}]}

    def token(self, form: dict[str, str], authorization: str) -> tuple[int, dict[str, Any]]:
        asked = self.codes.pop(form.get("code", ""), None)
        basic = "Basic " + base64.b64encode(f"{CLIENT}:{SECRET}".encode()).decode()
        shown = authorization == basic or form.get("client_secret") == SECRET
        verifier = hashlib.sha256(form.get("code_verifier", "").encode()).digest()
        challenge = base64.urlsafe_b64encode(verifier).rstrip(b"=").decode()
        right = {
            "code": asked is not None,
            "client": shown and form.get("client_id") == CLIENT,
            "redirect": asked is not None and form.get("redirect_uri") == asked["redirect_uri"],
            "pkce": asked is not None
            and asked["code_challenge_method"] == "S256"
            and challenge == asked["code_challenge"],
        }
        self.problems += [name for name, good in right.items() if not good]
        if not all(right.values()):
            return 400, {"error": "invalid_grant"}
        return 200, {"access_token": "access", "token_type": "Bearer", "id_token": self.id_token(asked["nonce"])}


def door(provider: Provider) -> type[BaseHTTPRequestHandler]:
    class Door(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            provider.asked.append(self.path)
            if self.path == "/.well-known/openid-configuration":
                self.say(200, provider.discovery())
            elif self.path == "/jwks":
                self.say(200, provider.jwks())
            elif self.path == "/userinfo" and self.headers["Authorization"] == "Bearer access":
                self.say(200, {"sub": "subject-7", **provider.userinfo})
            else:
                self.say(404, {})

        def do_POST(self) -> None:
            provider.asked.append(self.path)
            raw = self.rfile.read(int(self.headers["Content-Length"])).decode()
            form = {name: values[0] for name, values in parse_qs(raw).items()}
            if provider.token_status != 200 or provider.token_body is not None:
                self.say(provider.token_status, provider.token_body or b"SECRET-IN-AN-ANSWER")
            else:
                self.say(*provider.token(form, self.headers.get("Authorization", "")))

        def say(self, status: int, what: Any) -> None:
            body = what if isinstance(what, bytes) else json.dumps(what).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_words: Any) -> None: ...

    return Door
