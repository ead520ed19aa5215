"""What a link may reach."""

from __future__ import annotations

import socket

import pytest

from services.errors import LinkError, SettingsError
from services.links.guard import Guard, guard


@pytest.mark.parametrize(
    "number",
    [
        "127.0.0.1", "127.9.9.9", "10.0.0.1", "172.16.4.4", "192.168.1.1", "169.254.169.254",
        "100.64.0.1", "0.0.0.0", "224.0.0.1", "240.0.0.1", "255.255.255.255", "192.0.2.1",
        "::1", "::", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::127.0.0.1", "64:ff9b::10.0.0.1",
        "2002:7f00:1::", "fe80::1", "fe80::1%eth0", "fc00::1", "fec0::1", "ff02::1", "2001:db8::1",
    ],
)  # fmt: skip
def test_private_numbers_are_refused(number: str) -> None:
    assert not Guard().may_reach(number)


@pytest.mark.parametrize(
    "number", ["93.184.216.34", "8.8.8.8", "2606:4700::1111", "64:ff9b::808:808", "::ffff:8.8.8.8"]
)
def test_the_open_internet_is_reached(number: str) -> None:
    assert Guard().may_reach(number)


@pytest.mark.parametrize(
    "host", ["127.1", "0177.0.0.1", "2130706433", "0x7f.0.0.1", "0x7f000001", "127.0.0.1"]
)
def test_spellings_do_not_matter(host: str) -> None:
    # These are the numbers a system reads out of such a spelling.
    strange = Guard(resolver=lambda host, port: [socket.inet_ntoa(socket.inet_aton(host))])
    with pytest.raises(LinkError) as caught:
        strange.numbers(host, 80)
    assert caught.value.code == "link_private"


def test_names_are_judged_by_what_they_resolve_to() -> None:
    with pytest.raises(LinkError) as caught:
        Guard().numbers("localhost", 80)
    assert caught.value.code == "link_private"
    mixed = Guard(resolver=lambda host, port: ["8.8.8.8", "10.0.0.1"])
    with pytest.raises(LinkError):
        mixed.numbers("rebind.example", 443)
    with pytest.raises(LinkError):
        Guard(resolver=lambda host, port: []).numbers("empty.example", 443)


def test_a_name_without_a_server() -> None:
    def unknown(host: str, port: int) -> list[str]:
        raise socket.gaierror(-2, "Name or service not known")

    with pytest.raises(LinkError) as caught:
        Guard(resolver=unknown).numbers("nowhere.example", 443)
    assert caught.value.code == "link_no_host"
    assert "nowhere.example" in caught.value.message


@pytest.mark.parametrize(("port", "opens"), [(25, 0), (22, 0), (80, 1), (443, 1), (8080, 1)])
def test_ports(port: int, opens: int) -> None:
    open_to_all = Guard(resolver=lambda host, port: ["8.8.8.8"])
    if opens:
        assert open_to_all.numbers("example.com", port) == ["8.8.8.8"]
        return
    with pytest.raises(LinkError) as caught:
        open_to_all.numbers("example.com", port)
    assert caught.value.code == "link_port"


def test_named_networks_are_reached(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HALO_LINK_NETWORKS", "10.0.0.0/8, fd00::/8")
    assert guard().may_reach("10.1.2.3")
    assert guard().may_reach("::ffff:10.1.2.3")
    assert guard().may_reach("fd00::7")
    assert not guard().may_reach("192.168.1.1")
    monkeypatch.setenv("HALO_LINK_NETWORKS", "everything")
    with pytest.raises(SettingsError, match="everything"):
        guard()
