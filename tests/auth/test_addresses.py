"""Which addresses a server may name for its login."""

import pytest

from search_mcp.auth.addresses import Reach, canonical, check_reach, check_url, origin, reach_of_address
from search_mcp.auth.errors import AddressRefused

PUBLIC, PRIVATE, LOOPBACK, SPECIAL = Reach


@pytest.mark.parametrize(
    ("address", "reach"),
    [
        ("8.8.8.8", PUBLIC),
        ("2606:4700::1", PUBLIC),
        ("10.1.2.3", PRIVATE),
        ("172.16.0.1", PRIVATE),
        ("192.168.1.1", PRIVATE),
        ("100.64.0.1", PRIVATE),
        ("fc00::1", PRIVATE),
        ("127.0.0.1", LOOPBACK),
        ("127.8.8.8", LOOPBACK),
        ("::1", LOOPBACK),
        ("169.254.169.254", SPECIAL),
        ("fe80::1%eth0", SPECIAL),
        ("0.0.0.0", SPECIAL),
        ("224.0.0.1", SPECIAL),
        ("::ffff:127.0.0.1", LOOPBACK),
        ("::ffff:10.0.0.1", PRIVATE),
        ("::ffff:8.8.8.8", PUBLIC),
        ("64:ff9b::a9fe:a9fe", SPECIAL),
        ("2002:0a00:0001::", PRIVATE),
    ],
)
def test_the_reach_of_an_address(address: str, reach: Reach) -> None:
    assert reach_of_address(address) is reach


@pytest.mark.parametrize(
    ("url", "server"),
    [
        ("https://auth.example.com/x?y=1", PUBLIC),
        ("https://8.8.8.8/", PUBLIC),
        ("https://10.0.0.1/", PRIVATE),
        ("https://10.0.0.1/", LOOPBACK),
        ("http://127.0.0.1:8000/", LOOPBACK),
        ("http://localhost/", LOOPBACK),
        ("http://[::1]:80/", LOOPBACK),
    ],
)
def test_addresses_that_a_server_may_name(url: str, server: Reach) -> None:
    check_url("metadata", url, server)


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("http://auth.example.com/", "not https"),
        ("http://127.0.0.1/", "on this computer, and the server is not"),
        ("https://localhost./", "on this computer"),
        ("https://a.localhost/", "on this computer"),
        ("https://127.1/", "its host is a number"),
        ("https://2130706433/", "its host is a number"),
        ("https://0x7f.0.0.1/", "its host is a number"),
        ("https://0300.0250.1.1/", "its host is a number"),
        ("https://10.0.0.1/", "in a private network"),
        ("https://[::ffff:10.0.0.1]/", "in a private network"),
        ("https://169.254.169.254/latest", "in a reserved network"),
        ("https://user:word@auth.example.com/", "contains a user name"),
        ("https://auth.example.com/#x", "contains a fragment"),
        ("https://auth.example.com\\@10.0.0.1/", "not a URL"),
        ("https://auth.example.com:99999/", "not a URL"),
        ("https://[::1/", "not a URL"),
        ("https:///x", "not a URL"),
        ("file:///etc/passwd", "not a URL"),
        ("javascript:alert(1)", "not a URL"),
        ("ftp://auth.example.com/", "not https"),
    ],
)
def test_addresses_that_a_public_server_may_not_name(url: str, why: str) -> None:
    with pytest.raises(AddressRefused, match=why) as refused:
        check_url("token endpoint", url, PUBLIC)
    assert "token endpoint" in str(refused.value)
    assert "word" not in str(refused.value)


def test_a_server_may_not_name_addresses_nearer_than_its_own() -> None:
    check_reach("metadata", "", PRIVATE, LOOPBACK)
    with pytest.raises(AddressRefused):
        check_reach("metadata", "", LOOPBACK, PRIVATE)
    with pytest.raises(AddressRefused):  # the metadata service of a cloud provider
        check_reach("metadata", "", SPECIAL, LOOPBACK)


@pytest.mark.parametrize(
    ("url", "identifier"),
    [
        ("https://mcp.example.com", "https://mcp.example.com"),
        ("https://MCP.example.com:443/", "https://mcp.example.com"),
        ("HTTPS://mcp.example.com:8443/Server/mcp/#x", "https://mcp.example.com:8443/Server/mcp/"),
        ("https://mcp.example.com/?tenant=A", "https://mcp.example.com/?tenant=A"),
        ("http://[::1]:80/mcp", "http://[::1]/mcp"),
    ],
)
def test_the_resource_identifier_of_a_server(url: str, identifier: str) -> None:
    assert canonical(url) == identifier
    assert origin(url) == origin(identifier)
