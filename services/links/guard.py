"""What a link may reach: the open internet, and the networks that the settings name.

A name is judged by the numbers it resolves to, however it is spelled, and HALO connects to exactly
the number that was judged: a name that changes its answer in between gains nothing.
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Callable
from dataclasses import dataclass

from services.errors import LinkError, SettingsError
from services.settings import setting

Network = ipaddress.IPv4Network | ipaddress.IPv6Network
Number = ipaddress.IPv4Address | ipaddress.IPv6Address

_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")


def resolve(host: str, port: int) -> list[str]:
    """The numbers of a host, as the system knows them. Raises OSError."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


@dataclass(frozen=True)
class Guard:
    """Judges where a connection may go.

    Args:
        networks: private networks that may be reached all the same.
        resolver: turns a host name into its numbers.
    """

    networks: tuple[Network, ...] = ()
    resolver: Callable[[str, int], list[str]] = resolve

    def numbers(self, host: str, port: int) -> list[str]:
        """The numbers to connect to. Raises LinkError when there is none, or when any of them lies
        where HALO does not go."""
        if port < 1024 and port not in (80, 443):
            raise LinkError(
                f"HALO opens no web address on port {port}.",
                code="link_port",
                step="Check the address.",
                port=str(port),
            )
        try:
            found = self.resolver(host, port)
        except (OSError, UnicodeError) as error:
            raise LinkError(
                f"There is no server called {host}, or this computer is offline.",
                code="link_no_host",
                step="Check the address and try again.",
                host=host,
            ) from error
        if not found or not all(map(self.may_reach, found)):
            raise LinkError(
                f"{host} is a private address, which HALO does not open.",
                code="link_private",
                step="Save the page and upload it, or name its network in HALO_LINK_NETWORKS.",
                host=host,
            )
        return found

    def may_reach(self, number: str) -> bool:
        """True for an address of the open internet or of the networks named."""
        address = _plain(ipaddress.ip_address(number.partition("%")[0]))
        if any(address in network for network in self.networks):
            return True
        special = address.is_multicast or address.is_reserved or address.is_unspecified
        site = isinstance(address, ipaddress.IPv6Address) and address.is_site_local
        return address.is_global and not special and not site


def _plain(address: Number) -> Number:
    """The IPv4 address that an IPv6 address stands for, where it does; else the address itself."""
    if isinstance(address, ipaddress.IPv6Address):
        if address in _NAT64:
            return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
        return address.ipv4_mapped or address.sixtofour or address
    return address


def guard() -> Guard:
    """The guard that the settings describe. Raises SettingsError."""
    named = setting("HALO_LINK_NETWORKS") or ""
    networks = []
    for text in filter(None, map(str.strip, named.split(","))):
        try:
            networks.append(ipaddress.ip_network(text, strict=False))
        except ValueError as error:
            raise SettingsError(
                f"HALO_LINK_NETWORKS names “{text}”, which is not a network.",
                code="bad_network",
                step="Use addresses such as 10.0.0.0/8, separated by commas.",
                value=text,
            ) from error
    return Guard(tuple(networks))
