"""What a user types, in the one form under which it is kept."""

from __future__ import annotations

import pytest

from services.errors import UserInputError
from services.links import address


@pytest.mark.parametrize(
    ("typed", "kept"),
    [
        ("https://Example.com", "https://example.com/"),
        ("  https://example.com/a#part ", "https://example.com/a"),
        ("http://example.com:80/a?b=1", "http://example.com/a?b=1"),
        ("https://example.com:8443/a", "https://example.com:8443/a"),
        ("example.com/a", "https://example.com/a"),
        ("//example.com/a", "https://example.com/a"),
        ("example.com:8080/a", "https://example.com:8080/a"),
        ("localhost:8501", "https://localhost:8501/"),
        ("https://example.com/?utm_source=x&id=7&fbclid=abc", "https://example.com/?id=7"),
        ("https://example.com/?utm_source=x", "https://example.com/"),
        ("https://example.com/?b=2&a=%2F&a=1", "https://example.com/?b=2&a=%2F&a=1"),
        ("https://example.com./a", "https://example.com/a"),
        ("https://straße.example/ä ö?q=ü", "https://xn--strae-oqa.example/%C3%A4%20%C3%B6?q=%C3%BC"),
        ("http://[::1]:8080/a", "http://[::1]:8080/a"),
        ("HTTPS://example.com/A", "https://example.com/A"),
        ("https://youtu.be/dQw4w9WgXcQ?t=3", "https://www.youtube.com/watch?v=dQw4w9WgXcQ"),
        ("https://m.youtube.com/watch?list=x&v=dQw4w9WgXcQ", "https://www.youtube.com/watch?v=dQw4w9WgXcQ"),
        ("youtube.com/shorts/dQw4w9WgXcQ", "https://www.youtube.com/watch?v=dQw4w9WgXcQ"),
        ("https://www.youtube.com/@channel", "https://www.youtube.com/@channel"),
    ],
)  # fmt: skip
def test_one_form(typed: str, kept: str) -> None:
    parsed = address.parse(typed)
    assert str(parsed) == kept
    assert str(address.parse(str(parsed))) == kept


@pytest.mark.parametrize(
    ("typed", "code"),
    [
        ("file:///etc/passwd", "link_scheme"),
        ("ftp://example.com/a", "link_scheme"),
        ("javascript:alert(1)", "link_scheme"),
        ("data:text/html,x", "link_scheme"),
        ("mailto:a@example.com", "link_scheme"),
        ("https://ada:secret@example.com/", "link_user"),
        ("https://ada@example.com/", "link_user"),
        ("", "link_invalid"),
        ("https://", "link_invalid"),
        ("two words", "link_invalid"),
        ("https://exa mple.com/", "link_invalid"),
        ("https://example.com:99999/", "link_invalid"),
        ("https://[::1/", "link_invalid"),
        ("https://example.com/" + "a" * 5000, "link_invalid"),
    ],
)
def test_what_is_no_address(typed: str, code: str) -> None:
    with pytest.raises(UserInputError) as caught:
        address.parse(typed)
    assert caught.value.code == code
    assert caught.value.step


def test_a_password_is_never_shown() -> None:
    assert address.shown("https://ada:secret@example.com/a") == "https://example.com/a"


def test_redirects_are_joined_and_lose_their_user() -> None:
    start = address.parse("https://example.com/a/b")
    assert str(start.joined("../c#x")) == "https://example.com/c"
    assert str(start.joined("//other.example/d")) == "https://other.example/d"
    assert str(start.joined("http://ada:secret@other.example/d")) == "http://other.example/d"
    with pytest.raises(UserInputError):
        start.joined("file:///etc/passwd")
