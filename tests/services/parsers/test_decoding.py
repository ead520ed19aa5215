from __future__ import annotations

import pytest

from services.models import ImportReport
from services.parsers.decoding import decode

GERMAN = "Die schöne Müllerin aß für 15,50 € „Käse“ – süß & groß."
RUSSIAN = "Все люди рождаются свободными и равными в своем достоинстве и правах."
JAPANESE = "すべての人間は、生まれながらにして自由であり、かつ、尊厳と権利とについて平等である。"


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        (GERMAN, "cp1252"),
        ("Wszyscy ludzie rodzą się wolni i równi pod względem swej godności.", "cp1250"),
        ("Bütün insanlar hür, haysiyet ve haklar bakımından eşit doğarlar.", "cp1254"),
        (RUSSIAN, "cp1251"),
        (RUSSIAN, "koi8_r"),
        ("Όλοι οι άνθρωποι γεννιούνται ελεύθεροι και ίσοι στην αξιοπρέπεια", "cp1253"),
        ("כל בני אדם נולדו בני חורין ושווים בערכם ובזכויותיהם", "cp1255"),
        ("يولد جميع الناس أحرارا متساوين في الكرامة والحقوق", "cp1256"),
        (JAPANESE, "cp932"),
        (JAPANESE, "euc_jp"),
        (JAPANESE, "iso2022_jp"),
        ("人人生而自由,在尊严和权利上一律平等。他们赋有理性和良心", "gb18030"),
        ("人人生而自由,在尊嚴和權利上一律平等。他們賦有理性和良心", "big5hkscs"),
        ("모든 인간은 태어날 때부터 자유로우며 그 존엄과 권리에 있어 동등하다.", "cp949"),
        ("“—€é”", "cp1252"),
        ("佐藤太郎,東京", "cp932"),
    ],
)
def test_text_in_old_encodings_comes_back_intact(text: str, encoding: str) -> None:
    assert decode(text.encode(encoding)).text == text


def test_the_guess_looks_at_the_whole_file() -> None:
    rows = "id,name\n" + "".join(f"{i},plain ascii row\n" for i in range(400))
    decoded = decode((rows + "401,東京\n").encode("cp932"))
    assert decoded.text.endswith("401,東京\n")
    assert decoded.encoding == "cp932" and decoded.guessed


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-16", "utf-32", "utf-8-sig"])
def test_unicode_with_and_without_a_mark(encoding: str) -> None:
    decoded = decode("Words, wörds.\r\nMore".encode(encoding))
    assert decoded.text == "Words, wörds.\nMore"
    assert decoded.encoding == encoding and not decoded.guessed


def test_utf8_wins_over_a_declaration_and_a_declaration_over_a_guess() -> None:
    assert decode("größe".encode(), "cp1252").text == "größe"
    assert decode("größe".encode("cp437"), "cp437").text == "größe"
    assert decode("größe".encode("cp1252"), "no-such-encoding").text == "größe"
    assert decode("5 €".encode("cp1252"), "iso-8859-1").text == "5 €", "as browsers read it"


def test_damaged_utf8_keeps_its_good_part_and_says_what_was_lost() -> None:
    decoded = decode(("Größe, Übermaß und Äpfel " * 20).encode() + b"\xff\xff end")
    report = ImportReport()
    decoded.tell(report)
    assert "Größe" in decoded.text and decoded.text.endswith("end")
    assert {finding.code for finding in report.findings} >= {"undecodable"}
