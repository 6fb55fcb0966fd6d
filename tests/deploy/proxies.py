"""nginx and Caddy with the files of ``deploy/``, on loopback, each for as long as a block lasts.

Nothing in the files is changed but addresses, networks and where the certificate is. 127.0.0.1 is "your network", and
127.0.0.2 is the world outside.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import trustme

from tests.deploy.manifests import DEPLOY
from tests.patience import PATIENCE
from tests.ports import free_port

INSIDE, OUTSIDE = "127.0.0.1", "127.0.0.2"
NAME = "localhost"

_NGINX = """
daemon off;
pid {folder}/nginx.pid;
error_log {folder}/log;
events {{ }}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    include {folder}/handraise.conf;
}}
"""

_CADDY = """
{{
	admin off
	default_bind {address}
	local_certs
	skip_install_trust
	auto_https disable_redirects
}}
import {file}
"""


@dataclass(frozen=True, slots=True)
class Proxy:
    """A running proxy at ``https://localhost:port``."""

    port: int
    trust: ssl.SSLContext

    def client(self, address: str) -> httpx.AsyncClient:
        """Somebody with this address."""
        transport = httpx.AsyncHTTPTransport(local_address=address, verify=self.trust)
        return httpx.AsyncClient(base_url=f"https://{NAME}:{self.port}", transport=transport, timeout=PATIENCE)

    async def raw(self, target: str, address: str) -> bytes:
        """The reply to a GET whose target is sent as it stands; a client would tidy it up."""
        reader, writer = await asyncio.open_connection(
            INSIDE, self.port, ssl=self.trust, server_hostname=NAME, local_addr=(address, 0)
        )
        writer.write(f"GET {target} HTTP/1.1\r\nHost: {NAME}:{self.port}\r\nConnection: close\r\n\r\n".encode())
        async with asyncio.timeout(PATIENCE):
            reply = await reader.read()
        writer.close()
        return reply


@asynccontextmanager
async def nginx(folder: Path, upstream: str) -> AsyncIterator[Proxy]:
    """``deploy/nginx.conf`` before the service at ``upstream``, an address with its port."""
    port, authority = free_port(), trustme.CA()
    authority.issue_cert(NAME).private_key_and_cert_chain_pem.write_to_path(folder / "both.pem")
    conf = (DEPLOY / "nginx.conf").read_text()
    conf = _replaced(conf, "listen 443 ssl", f"listen {INSIDE}:{port} ssl")
    conf = _replaced(conf, "server 127.0.0.1:8080", f"server {upstream}")
    conf = _replaced(conf, "allow 10.0.0.0/8", f"allow {INSIDE}")
    for name in ("fullchain", "privkey"):
        conf = _replaced(conf, f"/etc/ssl/handraise/{name}.pem", str(folder / "both.pem"))
    (folder / "handraise.conf").write_text(conf)
    (folder / "nginx.conf").write_text(_NGINX.format(folder=folder))
    trust = ssl.create_default_context()
    authority.configure_trust(trust)
    async with _running(["nginx", "-e", str(folder / "log"), "-c", str(folder / "nginx.conf")], folder, {}):
        yield await _ready(Proxy(port, trust))


@asynccontextmanager
async def caddy(folder: Path, upstream: str) -> AsyncIterator[Proxy]:
    """``deploy/Caddyfile``, the same."""
    port = free_port()
    file = folder / "Caddyfile.test"
    file.write_text(_CADDY.format(address=INSIDE, file=DEPLOY / "Caddyfile"))
    environ = {
        "HOME": str(folder),
        "XDG_DATA_HOME": str(folder),
        "XDG_CONFIG_HOME": str(folder),
        "PUBLIC_HOST": f"{NAME}:{port}",
        "UPSTREAM": upstream,
        "NETWORK": f"{INSIDE}/32",
    }
    authority = folder / "caddy" / "pki" / "authorities" / "local" / "root.crt"
    async with _running(["caddy", "run", "--adapter", "caddyfile", "--config", str(file)], folder, environ):
        async with asyncio.timeout(PATIENCE):
            while not authority.exists():
                await asyncio.sleep(0.02)
        yield await _ready(Proxy(port, ssl.create_default_context(cafile=authority)))


PROXIES = {"nginx": nginx, "caddy": caddy}


def _replaced(text: str, old: str, new: str) -> str:
    assert text.count(old) == 1, f"the file has {text.count(old)} times: {old}"
    return text.replace(old, new)


@asynccontextmanager
async def _running(command: list[str], folder: Path, environ: Mapping[str, str]) -> AsyncIterator[None]:
    """Ended by its own pid, whatever happens."""
    if shutil.which(command[0]) is None:
        raise RuntimeError(f"these tests need {command[0]}, which is a package of Debian's (`make deployment`)")
    with (folder / "log").open("ab") as log:
        process = await asyncio.create_subprocess_exec(
            *command, cwd=folder, env={"PATH": os.environ["PATH"], **environ}, stdout=log, stderr=log
        )
    try:
        yield
    except BaseException as failure:
        failure.add_note((folder / "log").read_text(errors="replace")[-4000:])
        raise
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.terminate()
        await process.wait()


async def _ready(proxy: Proxy) -> Proxy:
    async with asyncio.timeout(PATIENCE), proxy.client(INSIDE) as http:
        while True:
            with contextlib.suppress(httpx.TransportError):
                if (await http.get("/v1/me")).status_code == 401:
                    return proxy
            await asyncio.sleep(0.02)
