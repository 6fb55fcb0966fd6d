"""A pretend IMAP server with the habits that a real dovecot does not have: no IDLE, no keywords, silence, a token.

It speaks as much of RFC 9051 as a client needs that logs in, searches, fetches and marks.
"""

from __future__ import annotations

import asyncio
import base64
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field


@dataclass
class PretendImap:
    """``mails`` by UID. ``tokens`` is what was logged in with by XOAUTH2; ``fetched`` every UID whose content was."""

    idles: bool = True
    keeps_keywords: bool = True
    refuses_keywords: bool = False
    refuses_marks: bool = False
    read_only: bool = False
    says_no_to: tuple[str, ...] = ()
    """Commands that it refuses."""
    silent_at: str | None = None
    hangs_up: tuple[str, ...] = ()
    """Commands that it ends the connection at, after ``patience`` seconds. ``greeted`` counts connections."""
    patience: float = 0
    greeted: int = 0
    hangs_up_at: set[int] = field(default_factory=set)
    """UIDs that it does not survive to be asked for; ``refuses`` those that it says BAD to."""
    refuses: set[int] = field(default_factory=set)
    moves: bool = True
    """Whether mails may be moved to another folder."""
    told_with_idling: bytes | None = None
    """A mail that arrives in the moment between the search and IDLE, and is told of in the packet of ``+ idling``."""
    mails: dict[int, bytes] = field(default_factory=dict)
    flags: dict[int, set[str]] = field(default_factory=dict)
    fetched: list[int] = field(default_factory=list)
    tokens: list[str] = field(default_factory=list)
    reached: asyncio.Event = field(default_factory=asyncio.Event)
    idling: asyncio.Event = field(default_factory=asyncio.Event)
    port: int = 0

    def lay(self, raw: bytes) -> int:
        uid = len(self.mails) + 1
        self.mails[uid], self.flags[uid] = raw, set()
        return uid

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"* OK pretend\r\n")
        self.greeted += 1
        found = 0  # how many mails this client knows of: any that comes later it is told of, were it before IDLE
        while line := (await reader.readline()).decode():
            tag, _, command = line.rstrip().partition(" ")
            name = command.upper().removeprefix("UID ").partition(" ")[0]
            if name == self.silent_at:
                self.reached.set()
                continue
            if name in self.hangs_up:
                await asyncio.sleep(self.patience)
                break
            if name == "IDLE":
                await self._idle(reader, writer, found)
            elif name == "AUTHENTICATE":
                writer.write(b"+ \r\n")
                self.tokens.append(base64.b64decode(await reader.readline()).decode())
            elif name == "SEARCH":
                found = len(self.mails)
            if name == "FETCH" and self.hangs_up_at & set(_uids(command)):
                break
            ending = "NO not here" if name in self.says_no_to else self._perform(name, command, writer)
            writer.write(f"{tag} {ending}\r\n".encode())
            if name == "LOGOUT":
                break
        writer.close()

    async def _idle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, known: int) -> None:
        self.idling.set()
        if self.told_with_idling is not None:
            self.lay(self.told_with_idling)
            self.told_with_idling = None
            known += 1
            writer.write(f"+ idling\r\n* {known} EXISTS\r\n".encode())
        else:
            writer.write(b"+ idling\r\n")
        done = asyncio.create_task(reader.readline())
        while not (await asyncio.wait({done}, timeout=0.02))[0]:
            if len(self.mails) > known:
                known = len(self.mails)
                writer.write(f"* {known} EXISTS\r\n".encode())

    def _perform(self, name: str, command: str, writer: asyncio.StreamWriter) -> str:
        match name:
            case "CAPABILITY":
                writer.write(b"* CAPABILITY IMAP4rev1 AUTH=XOAUTH2" + (b" IDLE" if self.idles else b"") + b"\r\n")
            case "SELECT" | "EXAMINE":
                kept = " \\*" if self.keeps_keywords else ""
                writer.write(f"* {len(self.mails)} EXISTS\r\n* OK [UIDVALIDITY 7] ok\r\n".encode())
                writer.write(f"* OK [PERMANENTFLAGS (\\Seen \\Deleted{kept})] ok\r\n".encode())
                return "OK [READ-ONLY] done" if self.read_only or name == "EXAMINE" else "OK [READ-WRITE] done"
            case "SEARCH":
                found = [str(uid) for uid, flags in self.flags.items() if "\\Seen" not in flags]
                writer.write(f"* SEARCH {' '.join(found)}\r\n".encode())
            case "FETCH" if self.refuses & set(_uids(command)):
                return "BAD can't convert it"
            case "FETCH":
                self._fetch(command, writer)
            case "LIST":
                writer.write(b'* LIST () "/" INBOX\r\n')
            case "CREATE" | "COPY" | "MOVE" if not self.moves:
                return "NO [OVERQUOTA] no room"
            case "STORE":
                return self._store(command)
        return "OK done"

    def _fetch(self, command: str, writer: asyncio.StreamWriter) -> None:
        for uid in _uids(command):
            if "RFC822.SIZE" in command:
                writer.write(f"* {uid} FETCH (UID {uid} RFC822.SIZE {len(self.mails[uid])})\r\n".encode())
            else:
                self.fetched.append(uid)
                head = f"* {uid} FETCH (UID {uid} BODY[] {{{len(self.mails[uid])}}}\r\n".encode()
                writer.write(head + self.mails[uid] + b")\r\n")

    def _store(self, command: str) -> str:
        _, _, uid, _, flags = command.split(" ", 4)
        if self.refuses_marks or (self.refuses_keywords and "$" in flags):
            return "NO [CANNOT] no such flags here"
        self.flags[int(uid)] |= set(flags.strip("()").split())
        return "OK done"


def _uids(command: str) -> list[int]:
    return [int(uid) for uid in command.split()[2].split(",")]


@asynccontextmanager
async def pretending(imap: PretendImap, tls: ssl.SSLContext | None = None) -> AsyncIterator[PretendImap]:
    server = await asyncio.start_server(imap.serve, "127.0.0.1", 0, ssl=tls)
    imap.port = server.sockets[0].getsockname()[1]
    try:
        yield imap
    finally:
        server.close()
