"""What strangers send is seen for what it is: every hidden character, every disguise, every cut (R-49 to R-51)."""

from __future__ import annotations

import json
import re
import unicodedata
from itertools import product

import pytest

from approvals.foreign import glyphs
from approvals.templatetags import review
from tests.approvals.formpage import Filled
from tests.pages import Page
from tests.people import only_task, shown

SURROGATES = range(0xD800, 0xE000, 64)
PRIVATE = [*range(0xE000, 0xF900, 256), *range(0xF0000, 0x10FFFE, 4096)]
HIDDEN = [
    point
    for point in [*range(0xD800), *range(0xF900, 0x20000), *range(0xE0000, 0xE1000)]
    if unicodedata.category(chr(point)) in ("Cc", "Cf") and chr(point) not in "\n\r\t"
]


def test_every_character_without_a_picture_is_drawn_as_its_code() -> None:
    assert len(HIDDEN) > 200
    for point in [*HIDDEN, *SURROGATES, *PRIVATE]:
        drawn = review.glyphs(f"a{chr(point)}b")
        assert f"U+{point:04X}</span>" in drawn and chr(point) not in drawn


TWINS = (  # noqa: SIM905 - forty pairs read better as words
    "аa еe оo рp сc уy хx іi јj ѕs һh ԁd ԛq ԝw ѵv ӏl АA ВB ЕE КK МM НH ОO РP СC ТT ХX ІI ЈJ ЅS "
    "αa οo ρp νv ΑA ΒB ΕE ΖZ ΗH ΙI ΚK ΜM ΝN ΟO ΡP ΤT ΥY ΧX ıi ⅼl ａa ｐp 𝐩p"
).split()


@pytest.mark.parametrize("pair", TWINS, ids=[f"U+{ord(pair[0]):04X}" for pair in TWINS])
def test_a_letter_that_poses_as_another_is_marked_in_an_address(pair: str) -> None:
    false, true = pair
    for address in (f"pay{true}@bank.example", f"https://b{true}nk.example/x"):
        assert not glyphs.has_hidden(address)
        assert glyphs.has_hidden(address.replace(true, false, 1) if true not in "pay" else f"m{false}n@x.example")


WORDS = {
    "Korean": "환불 요청 고객 주문 결제 승인 담당자 오늘 배송 확인",
    "Japanese": "返金 のお願い お客様 注文 ありがとう ございます カード 確認 今日 配送",
    "Greek": "επιστροφή χρημάτων πελάτης παραγγελία σήμερα έγκριση πληρωμή κάρτα ναι όχι",
    "Cyrillic": "возврат денег клиент заказ сегодня платёж карта согласие доставка нет",
    "Arabic": "استرداد المال العميل الطلب اليوم الدفع بطاقة موافقة شحن نعم",
}


@pytest.mark.parametrize("script", WORDS)
def test_ordinary_writing_in_one_script_is_never_marked(script: str) -> None:
    samples = [f"{one} {two}, {one}. 20418 (12.50)" for one, two in product(WORDS[script].split(), repeat=2)]
    assert len(samples) == 100
    assert [text for text in samples if glyphs.has_hidden(text)] == []


def test_a_menu_spells_what_it_cannot_draw() -> None:
    choice = [{"const": 1, "title": "a\u202eb"}, {"const": 2, "title": "p\u0430y"}]
    page = Filled({"properties": {"e": {"oneOf": choice}}}).page
    assert "\u202e" not in page.source
    assert "a[U+202E]b" in page.source and "p\u0430[U+0430]y" in page.source


TEN_THOUSAND_LINES = "\n".join(f"line {number:05d} " + "x" * 90 for number in range(10_000))


TURNED = '{"memo":"paid\u202etxt.exe\u200b","who":"plain"}'


def test_a_text_with_what_cannot_be_seen_is_edited_with_escapes() -> None:
    form = Filled(None, TURNED)
    assert not {"\u202e", "\u200b"} & set(form.page.source)
    assert "cannot be seen" in form.page.source
    form.page.type("/memo", form.page.values["v/memo"].replace("paid", "due"))
    assert json.loads(form.read().text or "") == json.loads(TURNED.replace("paid", "due"))


@pytest.mark.parametrize("text", ["javascript:alert(1)", " JavaScript:x", "data:text/html,<b>", "vbscript:x"])
def test_an_address_that_would_run_stands_in_no_attribute(text: str) -> None:
    form = Filled(None, json.dumps({"a": text, "b": "data"}))
    assert [form.page.pointers[place].get("value") for place in ("/a", "/b")] == [None, "data"]
    form.page.type("/b", "c")
    assert form.read().text == json.dumps({"a": text, "b": "c"})


@pytest.mark.parametrize("text", ["👩\u200d👩\u200d👧", "👨🏽\u200d🚀", "می\u200cخواهم", "क्\u200dष", "é\u00a0한"])
def test_joiners_that_writing_needs_leave_a_text_a_text(text: str) -> None:
    assert Filled(None, json.dumps({"a": text})).tree.at("/a").kind == "text"


@pytest.mark.parametrize("text", ["a\u200db", "x\u2066y", "\ufeffa", "soft\u00adhyphen", "\U000e0041", "은\u3164행"])
def test_joiners_between_other_letters_conceal(text: str) -> None:
    assert Filled(None, json.dumps({"a": text})).tree.at("/a").kind == "raw"


def test_a_field_that_turns_the_direction_says_so_and_spells_itself_out() -> None:
    form = Filled(None, '{"memo":"","who":"plain"}')
    form.page.type("/memo", "paid\u202etxt.exe\u200b")
    page = form.shown(form.page.posted())
    assert "paid<span" in page.source and "U+202E</span>" in page.source
    assert page.source.count("turn the direction of writing") == 1
    assert page.pointers["/memo"]["dir"] == "auto" and page.pointers["/memo"]["value"] == "paid\u202etxt.exe\u200b"


def test_raw_json_is_edited_with_escapes_for_what_has_no_picture() -> None:
    form = Filled(None, TURNED)
    assert r'"paid\u202etxt.exe\u200b"' in form.page.values["v:raw"]
    assert form.read().text == TURNED
    form.page.values["v:raw"] = form.page.values["v:raw"].replace("plain", "other")
    assert form.read().text == TURNED.replace("plain", "other")


@pytest.mark.parametrize(
    "text", ["\u202e", "a\u200bb", "\U000e0041", "\ue000", "e" + "\u0301" * 9, "👩\u200d🚀", "한글", "a\nb"]
)
def test_an_escape_says_the_same(text: str) -> None:
    written = glyphs.escaped(json.dumps(text, ensure_ascii=False))
    assert json.loads(written) == text
    assert not any(mark.kind == "hidden" for mark in glyphs.marks(written))


def test_a_megabyte_of_words_is_a_small_page_with_a_way_to_the_rest(alice, open_case, client):
    case = open_case(exhibit=shown(message=TEN_THOUSAND_LINES, state='{"a":"' + "y" * 500_000 + '"}'))
    client.force_login(alice)
    source = client.get(f"/cases/{case.code}/").content.decode()
    assert len(source) < 300_000
    assert source.index('name="v/amount"') < source.index("line 00000")
    assert "not all here: 1.0 MB" in source
    whole = next(given["href"] for tag, given in Page(source).tags if given.get("href", "").endswith("/text/message/"))
    brought = client.get(whole).content.decode()
    assert all(f"line {number:05d}" in brought for number in (0, 5_000, 9_999))
    assert client.get(whole, headers={"HX-Request": "true"}).content.decode().count("<html") == 0


def test_a_part_that_a_question_does_not_have_is_not_there(alice, task, client):
    client.force_login(alice)
    for part in ("state", "nothing"):
        assert client.get(f"/tasks/{task.code}/text/{part}/").status_code == 404


def test_nothing_is_cut_without_a_mark(alice, open_case, client):
    value = "start " + "z" * 30_000 + " end"
    case = open_case(exhibit=shown(args=f'{{"to":"{value}"}}'))
    client.force_login(alice)
    source = client.get(f"/cases/{case.code}/").content.decode()
    assert source.count(value) >= 1  # in its control, whole
    assert re.search(r"not all here: 30\.\d kB", source)
    row = client.get("/queue/").content.decode()
    assert value not in row and "…" in row
    assert only_task(case).headline.count("…") == 1
