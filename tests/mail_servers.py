"""A real mail server for the tests: postfix and dovecot on loopback, in a folder of their own, as root.

Nothing of the system's configuration is read or written but the lists of postfix's own parts. Mail for
``handraise.example`` goes to the service's listener, for ``imap.example`` and ``example.com`` into mailboxes;
``ghost@example.com`` is let in and then refused, so that a real delivery report comes back.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import imap_tools

from tests.ports import free_port

PASSWORD = "pw"
MAILBOXES = ("answers", "bounces", "alice", "bob")
PROGRAMS = ("postfix", "dovecot", "doveadm")

DOVECOT = """
protocols = imap lmtp
listen = 127.0.0.1
base_dir = {root}/run
state_dir = {root}/state
log_path = {root}/dovecot.log
ssl = no
disable_plaintext_auth = no
auth_mechanisms = plain login
recipient_delimiter = +
mail_location = maildir:{root}/mail/%u
mail_uid = mail
mail_gid = mail
first_valid_uid = 1
passdb {{
  driver = passwd-file
  args = scheme=PLAIN username_format=%n {root}/users
}}
userdb {{
  driver = passwd-file
  args = username_format=%n {root}/users
}}
service imap-login {{
  inet_listener imap {{
    port = {imap}
  }}
  inet_listener imaps {{
    port = 0
  }}
}}
service lmtp {{
  inet_listener lmtp {{
    address = 127.0.0.1
    port = {lmtp}
  }}
}}
protocol lmtp {{
  postmaster_address = postmaster@example.com
  auth_username_format = %n
}}
namespace inbox {{
  inbox = yes
}}
"""

MAIN = """
compatibility_level = 3.6
queue_directory = {root}/postfix/queue
data_directory = {root}/postfix/data
command_directory = /usr/sbin
daemon_directory = /usr/lib/postfix/sbin
mail_owner = postfix
setgid_group = postdrop
myhostname = mx.example.com
mydestination =
mynetworks = 127.0.0.0/8
inet_interfaces = 127.0.0.1
inet_protocols = ipv4
recipient_delimiter = +
relay_domains = handraise.example
relay_recipient_maps =
transport_maps = inline:{{ handraise.example=lmtp:inet:127.0.0.1:{listener} }}
virtual_mailbox_domains = imap.example, example.com
virtual_mailbox_maps = inline:{{ {known} }}
virtual_transport = lmtp:inet:127.0.0.1:{lmtp}
relayhost = [127.0.0.1]:9
smtpd_recipient_restrictions = reject_unauth_destination, check_recipient_access {strict}
unverified_recipient_reject_code = 550
unverified_recipient_defer_code = 450
address_verify_poll_delay = 1s
address_verify_map =
maillog_file = {root}/postfix/mail.log
maillog_file_prefixes = /tmp, /var
alias_maps =
alias_database =
local_recipient_maps =
minimal_backoff_time = 1s
maximal_backoff_time = 1s
queue_run_delay = 1s
destination_concurrency_failed_cohort_limit = 0
default_destination_concurrency_failed_cohort_limit = 0
maximal_queue_lifetime = 1h
bounce_queue_lifetime = 1h
"""

MASTER = """
127.0.0.1:{smtp} inet n - n - - smtpd
pickup unix n - n 60 1 pickup
cleanup unix n - n - 0 cleanup
qmgr unix n - n 1 1 qmgr
rewrite unix - - n - - trivial-rewrite
bounce unix - - n - 0 bounce
defer unix - - n - 0 bounce
trace unix - - n - 0 bounce
verify unix - - n - 1 verify
proxymap unix - - n - - proxymap
smtp unix - - n - - smtp
relay unix - - n - - smtp
showq unix n - n - - showq
error unix - - n - - error
retry unix - - n - - error
discard unix - - n - - discard
lmtp unix - - n - - lmtp
anvil unix - - n - 1 anvil
scache unix - - n - 1 scache
postlog unix-dgram n - n - 1 postlogd
"""


@dataclass(frozen=True)
class MailServers:
    """Running servers. ``listener`` is where postfix brings mail for the service by LMTP: nobody listens there yet."""

    root: Path
    smtp: int
    imap: int
    lmtp: int
    listener: int

    def imap_url(self, mailbox: str) -> str:
        return f"imap://{mailbox}:{PASSWORD}@127.0.0.1:{self.imap}/INBOX"

    @contextlib.contextmanager
    def opened(self, mailbox: str) -> Iterator[imap_tools.BaseMailBox]:
        """A mailbox as its owner's mail program has it."""
        with imap_tools.MailBoxUnencrypted("127.0.0.1", self.imap, timeout=20).login(mailbox, PASSWORD) as box:
            yield box

    def kick(self, mailbox: str) -> None:
        """Every connection to it breaks."""
        command = ["doveadm", "-c", self.root / "dovecot.conf", "kick", mailbox]
        subprocess.run(command, check=True, capture_output=True)

    def empty(self) -> None:
        """Every mailbox as on the first day, and nothing in the queue."""
        subprocess.run(["postsuper", "-c", self.root / "postfix", "-d", "ALL"], check=True, capture_output=True)
        for mailbox in MAILBOXES:
            shutil.rmtree(self.root / "mail" / mailbox, ignore_errors=True)
        for file in self._logs:
            os.truncate(file, 0)

    def log(self) -> str:
        """What both have logged since :meth:`empty`."""
        return "\n".join(file.read_text() for file in self._logs)

    @property
    def _logs(self) -> list[Path]:
        return [file for file in (self.root / "postfix" / "mail.log", self.root / "dovecot.log") if file.exists()]


@contextlib.contextmanager
def mail_servers() -> Iterator[MailServers]:
    """Start both; raises where they are not installed, or this is not root's process. Stopped by their own pids."""
    missing = [program for program in PROGRAMS if shutil.which(program) is None]
    if missing or os.geteuid() != 0:
        raise RuntimeError(
            "the tests of real mail servers need root and Debian's packages postfix, dovecot-imapd and dovecot-lmtpd"
            + (f" (not found: {', '.join(missing)})" if missing else "")
        )
    root = Path(tempfile.mkdtemp(prefix="mail-", dir="/tmp"))  # postfix does not start in /dev/shm
    servers = MailServers(root, free_port(), free_port(), free_port(), free_port())
    try:
        _write(servers)
        _quietly("dovecot", "-c", root / "dovecot.conf")
        _quietly("postfix", "-c", root / "postfix", "start")
        _await(servers)
        yield servers
    finally:
        _quietly("postfix", "-c", root / "postfix", "stop", check=False)
        _end(root / "run" / "master.pid")
        shutil.rmtree(root, ignore_errors=True)


def _write(servers: MailServers) -> None:
    root, postfix = servers.root, servers.root / "postfix"
    root.chmod(0o755)
    for folder in (root / "mail", postfix / "queue", postfix / "data"):
        folder.mkdir(parents=True)
    shutil.chown(root / "mail", "mail", "mail")
    shutil.chown(postfix / "data", "postfix")
    homes = "".join(f"{name}:{{PLAIN}}{PASSWORD}::::{root}/mail/{name}::\n" for name in MAILBOXES)
    (root / "users").write_text(homes)
    addresses = [*(f"{name}@imap.example" for name in MAILBOXES), *(f"{name}@example.com" for name in MAILBOXES)]
    values = {
        "root": root,
        "smtp": servers.smtp,
        "imap": servers.imap,
        "lmtp": servers.lmtp,
        "listener": servers.listener,
        "strict": "inline:{ handraise.example=reject_unverified_recipient }",
        "known": ", ".join(f"{address}=ok" for address in (*addresses, "ghost@example.com")),
    }
    (root / "dovecot.conf").write_text(DOVECOT.format(**values))
    (postfix / "main.cf").write_text(MAIN.format(**values))
    (postfix / "master.cf").write_text(MASTER.format(**values))
    for name in ("dynamicmaps.cf", "postfix-files"):
        if (Path("/etc/postfix") / name).exists():
            shutil.copy(Path("/etc/postfix") / name, postfix)


def _quietly(*command: str | Path, check: bool = True) -> None:
    """Without our output: a daemon that inherits it keeps it open for ever."""
    subprocess.run(
        command, check=check, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=60
    )


def _await(servers: MailServers) -> None:
    deadline = time.monotonic() + 30
    for port in (servers.smtp, servers.imap, servers.lmtp):
        while True:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=5) as one:
                if one.recv(1):
                    break
            if time.monotonic() > deadline:
                raise RuntimeError(f"a mail server did not start:\n{servers.log()}")
            time.sleep(0.05)


def _end(pid_file: Path) -> None:
    """Ours alone: the pid that this instance wrote down, and only while it is that process."""
    if not pid_file.exists():
        return
    pid = int(pid_file.read_text())
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGTERM)
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline:
            os.kill(pid, 0)
            time.sleep(0.02)
