"""Certificates made for one run by the openssl command, and an authority that has signed some of them."""

from __future__ import annotations

import shutil
import ssl
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

HERE = "DNS:localhost,IP:127.0.0.1"


@dataclass(frozen=True)
class Authority:
    """Signs certificates; clients that know :attr:`file` believe them."""

    folder: Path

    @property
    def file(self) -> Path:
        return self.folder / "ca.pem"

    @classmethod
    def make(cls, folder: Path) -> Authority:
        if shutil.which("openssl") is None:
            pytest.fail("There is no openssl on this machine: apt-get install openssl.", pytrace=False)
        made = cls(folder)
        made._openssl(
            "req", "-x509", *_NEW_KEY, "-keyout", "ca.key", "-out", "ca.pem", "-subj", "/CN=Tests", "-days", "2"
        )
        return made

    def server(self, name: str, names: str = HERE, *, days: int = 2, signed: bool = True) -> ssl.SSLContext:
        """What a server with such a certificate speaks TLS with; ``signed`` by itself where not by the authority."""
        request = (*_NEW_KEY, "-keyout", f"{name}.key", "-subj", f"/CN={name}", "-addext", f"subjectAltName={names}")
        if signed:
            self._openssl("req", *request, "-out", f"{name}.csr")
            by = ("-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-copy_extensions", "copy")
            self._openssl("x509", "-req", "-in", f"{name}.csr", *by, "-days", str(days), "-out", f"{name}.pem")
        else:
            self._openssl("req", "-x509", *request, "-days", str(days), "-out", f"{name}.pem")
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.folder / f"{name}.pem", self.folder / f"{name}.key")
        return context

    def _openssl(self, *arguments: str) -> None:
        subprocess.run(["openssl", *arguments], cwd=self.folder, check=True, capture_output=True)


_NEW_KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
