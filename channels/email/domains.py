"""When two addresses are one: their domains as the DNS knows them. Pure.

IDNA 2008 as UTS 46 has it, without the mappings of its transition: großbank.example is not grossbank.example, which
may be somebody else's. The standard library's codec is that of 2003 and takes one for the other.

Source: RFC 5891, RFC 5894 §7.2 (ß, ς and the joiners); UTS 46 §4; RFC 6532 (UTF-8 in addresses).
"""

from __future__ import annotations


def dns_domain(domain: str) -> str:
    """As it stands in the DNS, lower case. Raises :class:`UnicodeError` where it can't."""
    if domain.isascii():
        return domain.encode("idna").decode("ascii").lower()  # measures its labels
    import idna

    return idna.encode(domain, uts46=True).decode("ascii")


def comparable_domain(domain: str) -> str:
    """As :func:`dns_domain`; what can't stand in the DNS is equal to itself alone."""
    try:
        return dns_domain(domain)
    except UnicodeError:
        return domain.lower()


def small(address: str) -> str:
    """In lower case. A letter that would become an ASCII one, such as the sign for kelvin, stays what it is."""
    lower = address.lower()
    return lower if lower.isascii() == address.isascii() else address


def is_same_mailbox(one: str, other: str) -> bool:
    return _comparable(one) == _comparable(other)


def _comparable(address: str) -> tuple[str, str]:
    local, _, domain = address.rpartition("@")
    return small(local), comparable_domain(domain)
