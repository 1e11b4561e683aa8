"""The case page as a reviewer lives in it: by keyboard alone, in two queues, after a lost session, at high risk."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Iterator

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from tests import desk as desks
from tests.browser.hosts import Host, host
from tests.desk import Desk, Json
from tests.scripted_agent import call, interrupt
from tests.trails import desk_is_good

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("browser")]
SignIn = Callable[..., Page]
WIDE, PHONE = {"width": 1280, "height": 800}, {"width": 360, "height": 740}


@pytest.fixture(scope="module")
def running_desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    """Without a worker: nothing leaves the desk before a story wants it to."""
    with desks.running(tmp_path_factory.mktemp("desk"), "serve") as running:
        for queue, risk in (("vault", "high"), ("mail", "low")):
            running.manage("add_queue", queue, "--risk", risk)
        for name, queues in (("alice", ("payments", "vault")), ("bob", ("mail",))):
            words = [word for queue in queues for word in ("--queue", queue)]
            running.manage("add_user", name, "--role", "reviewer", *words)
        yield running
        desk_is_good(running)


@pytest.fixture(scope="module")
def payer(running_desk: Desk) -> Host:
    return host(running_desk, "payer", "Ledgerline")


@pytest.fixture(scope="module")
def keeper(running_desk: Desk) -> Host:
    """Asks in the queue of high risk."""
    return host(running_desk, "keeper", "Keyholder", "vault")


def at(page: Page, desk: Desk, task: Json) -> None:
    page.goto(f"{desk.url}/cases/{task['case']}/")


def faults(page: Page) -> list[str]:
    page.wait_for_load_state("networkidle")
    return [f"{fault['id']}: {fault['nodes'][0]['html']}" for fault in Axe().run(page).response["violations"]]


def ask_three(payer: Host, *tools: str) -> list[Json]:
    """A run that proposes three calls at once."""
    thread, ids = f"thread-{secrets.token_hex(6)}", ("1", "2", "3")
    calls = b"".join(call(tool, f'{{"amount": {n}}}', f"tc-{n}") for tool, n in zip(tools, ids, strict=True))
    payer.push(thread, calls, *(interrupt(f"int-{n}", f"tc-{n}") for n in ids))
    tasks: list[Json] = payer.desk.get(f"tasks?thread={thread}", "olga")["tasks"]
    return sorted(tasks, key=lambda task: task["interruptId"])


class Keyboard:
    """A reviewer who has no mouse."""

    def __init__(self, page: Page) -> None:
        self.page = page

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)

    def type(self, key: str, text: str) -> None:
        """To a field by its key, over what is there, and out of it."""
        self.press(key, "ControlOrMeta+a")
        self.page.keyboard.type(text)
        self.press("Escape")

    def decide(self, wish: str) -> None:
        if wish == "edit":
            self.type("e", "99.10")
        if wish == "answer":
            self.type("e", "by courier")
        if wish == "reject":
            self.type("m", "not this one")
        self.press({"edit": "a", "approve": "a", "reject": "r", "cancel": "x", "answer": "w"}[wish], "Enter")


@pytest.fixture(scope="module")
def clerk(running_desk: Desk) -> Host:
    """Asks dana alone, who has nothing else to do."""
    running_desk.passwords["dana"] = secrets.token_urlsafe(12)
    words = ("--role", "reviewer", "--queue", "clerks", "--password-stdin")
    running_desk.manage("add_user", "dana", *words, given=running_desk.passwords["dana"] + "\n")
    running_desk.tokens["dana"] = json.loads(running_desk.manage("add_token", "dana"))["token"]
    return host(running_desk, "clerk", "Clerk", "clerks")


def asked_of_dana(clerk: Host) -> dict[str, str]:
    """Thirty tasks by their code, and what dana wants with each: eleven calls, four questions, five sets of three."""
    wishes, plan = ["approve", "edit", "reject", "cancel"], {}
    for n in range(11):
        plan[clerk.asks("pay", {"amount": n}, person="dana")["code"]] = wishes[n % 4]
    for n in range(4):
        plan[clerk.question(f"How shall I send parcel {n}?", person="dana")["code"]] = "answer"
    for n in range(5):
        asked = ask_three(clerk, "pay", "refund", "notify")
        plan |= {task["code"]: wishes[(n + k) % 4] for k, task in enumerate(asked)}
    return plan


def test_thirty_mixed_tasks_are_cleared_by_keyboard_alone(running_desk: Desk, sign_in: SignIn, clerk: Host) -> None:
    plan = asked_of_dana(clerk)
    page = sign_in("dana", viewport=WIDE)
    keyboard = Keyboard(page)
    page.wait_for_selector("live-feed[data-state=live]", state="attached")
    keyboard.press("j", "Enter")
    page.wait_for_url("**/cases/**")
    for left in range(len(plan), 0, -1):
        page.wait_for_selector("#keys:not([hidden])", state="attached")
        form = page.locator("form[action$='/decision/']").first
        code = (form.get_attribute("action") or "").split("/")[2]
        keyboard.decide(plan[code])
        gone = page.locator(f"#task-{code} form[action$='/decision/']")
        expect(gone, f"{plan[code]} of {code}, {left} left").to_have_count(0)
        if left > 1 and page.locator("form[action$='/decision/']").count() == 0:
            with page.expect_navigation():
                keyboard.press("n")
    assert sent(running_desk) == {code: MEANT[wish] for code, wish in plan.items()}


MEANT = {
    "approve": {"approved": True}, "edit": {"approved": True, "editedArgs": {"amount": 99.10}},
    "reject": {"approved": False}, "cancel": None, "answer": "by courier",
}  # fmt: skip


def sent(desk: Desk) -> dict[str, Json | str | None]:
    """What is sealed for the agent: the payload for each task, None for a cancelled one."""
    tasks = everything(desk)
    for _round in range(5):  # a worker takes so many at a time
        desk.manage("bridge", "--once")
        cases = {code: desk.get(f"cases/{code}", "dana") for code in {task["case"] for task in tasks}}
        if all(case["delivery"] and case["delivery"]["entries"] for case in cases.values()):
            break
    entries = {
        (code, entry["interruptId"]): entry.get("payload")
        for code, case in cases.items()
        for entry in case["delivery"]["entries"]
    }
    return {task["code"]: entries[task["case"], task["interruptId"]] for task in tasks}


def everything(desk: Desk) -> list[Json]:
    tasks: list[Json] = desk.get("tasks?agent=clerk&limit=200", "olga")["tasks"]
    return tasks


def test_a_held_key_decides_nothing_and_a_held_enter_one(running_desk: Desk, sign_in: SignIn, payer: Host) -> None:
    first, second = payer.asks("pay_once"), payer.asks("pay_once")
    page = sign_in("alice", viewport=WIDE)
    at(page, running_desk, first)
    page.keyboard.down("a")
    for _ in range(5):
        page.keyboard.down("a")
    expect(page.locator("button[value=approved]")).to_be_focused()
    page.keyboard.down("Enter")
    for _ in range(20):
        page.keyboard.down("Enter")
    expect(page.locator("h1")).to_be_focused()
    page.keyboard.up("Enter")
    states = [running_desk.get(f"tasks/{task['code']}")["state"] for task in (first, second)]
    assert (states[0] != "open", states[1]) == (True, "open")


def test_no_key_works_while_typing_or_when_switched_off(running_desk: Desk, sign_in: SignIn, payer: Host) -> None:
    task = payer.asks("pay_typed", {"amount": 1})
    page = sign_in("alice", viewport=WIDE)
    at(page, running_desk, task)
    page.locator("textarea[name=comment]").press_sequentially("exact? no")
    assert page.input_value("textarea[name=comment]") == "exact? no" and page.locator("dialog[open]").count() == 0
    page.goto(f"{running_desk.url}/accounts/me/")
    page.uncheck("[name=keys_on]")
    page.click("text=Save")
    at(page, running_desk, task)
    page.keyboard.press("a")
    expect(page.locator("button[value=approved]")).not_to_be_focused()
    page.goto(f"{running_desk.url}/accounts/me/")
    page.check("[name=keys_on]")
    page.fill("[name=key-approve]", "y")
    page.click("text=Save")
    at(page, running_desk, task)
    page.keyboard.press("y")
    expect(page.locator("button[value=approved]")).to_be_focused()
    page.goto(f"{running_desk.url}/accounts/me/")
    page.fill("[name=key-approve]", "a")
    page.click("text=Save")


def test_one_set_in_two_queues_is_answered_by_two_people(running_desk: Desk, sign_in: SignIn) -> None:
    words = ("--queue", "payments", "--route", "write=mail", "--new-token")
    told = running_desk.manage("add_agent", "both", "https://agent.invalid/", "--name", "Both", *words)
    agent = Host(running_desk, "both", json.loads(told)["hostToken"])
    pay, write, more = ask_three(agent, "pay", "write", "pay")
    alice, bob = sign_in("alice", viewport=WIDE), sign_in("bob", viewport=WIDE)
    for page in (alice, bob):
        at(page, running_desk, pay)
        page.wait_for_selector("live-feed[data-state=live]", state="attached")
    expect(bob.locator(f"#task-{pay['code']}")).to_contain_text("You see its state only.")
    bob.click(f"#task-{write['code']} button[value=rejected]")
    expect(alice.locator("#case-progress")).to_contain_text("1 of 3 decided")
    for task in (pay, more):
        alice.click(f"#task-{task['code']} button[value=approved]")
        expect(alice.locator(f"#task-{task['code']}")).to_contain_text("approved")
    running_desk.manage("bridge", "--once")
    headers = {"authorization": f"Bearer {agent.token}"}
    (resume,) = running_desk.http.get(f"{running_desk.url}/agui/both/resumes", headers=headers).json()["resumes"]
    assert [entry["payload"]["approved"] for entry in resume["resume"]] == [True, False, True]


def test_a_draft_outlives_its_session(running_desk: Desk, sign_in: SignIn, payer: Host) -> None:
    task = payer.asks("pay_later", {"amount": 5})
    page = sign_in("alice", viewport=WIDE)
    at(page, running_desk, task)
    page.fill('[data-pointer="/amount"]', "4.50")
    page.fill("textarea[name=comment]", "half a sen")
    expect(page.get_by_text("Draft kept")).to_be_visible()
    page.context.clear_cookies()
    again = sign_in("alice", viewport=PHONE)
    at(again, running_desk, task)
    expect(again.locator('[data-pointer="/amount"]')).to_have_value("4.50")
    expect(again.locator("textarea[name=comment]")).to_have_value("half a sen")
    assert faults(again) == []


def test_high_risk_is_another_room(running_desk: Desk, sign_in: SignIn, keeper: Host) -> None:
    task = keeper.asks("wire", {"amount": 48200.5, "to_iban": "DE02 1203"})
    page = sign_in("alice", viewport=PHONE)
    at(page, running_desk, task)
    page.keyboard.press("a")
    expect(page.locator("button[value=approved]")).not_to_be_focused()
    assert faults(page) == [] and not sideways(page)
    page.click("button[value=approved]")
    expect(page.locator("section[role=alert]")).to_be_focused()
    expect(page.locator("section[role=alert]")).to_contain_text("Not decided yet: 2 places")
    page.check("[name=read_all]")
    page.fill("[name=typed]", "48200.5")
    page.click("button[value=approved]")
    expect(page.get_by_role("heading", name="You are about to let")).to_be_focused()
    assert running_desk.get(f"tasks/{task['code']}")["decision"] is None
    assert faults(page) == [] and not sideways(page)
    page.click("button[value=approved]")
    expect(page.locator("h1")).to_be_focused()
    assert running_desk.get(f"tasks/{task['code']}")["decision"]["verdict"] == "approved"


def test_all_of_it_works_without_a_script(running_desk: Desk, sign_in: SignIn, keeper: Host) -> None:
    task = keeper.asks("wire_plain", {"amount": 7})
    page = sign_in("alice", viewport=WIDE, java_script_enabled=False)
    at(page, running_desk, task)
    page.select_option("[name=reason_code]", "checked")
    page.fill("textarea[name=comment]", "as agreed")
    page.check("[name=read_all]")
    page.fill("[name=typed]", "7")
    page.click("button[value=approved]")
    page.click("button[value=approved]")
    told = running_desk.get(f"tasks/{task['code']}")["decision"]
    assert (told["verdict"], told["reasonCode"], told["comment"]) == ("approved", "checked", "as agreed")


def test_drafts_and_notes_work_without_a_script(running_desk: Desk, sign_in: SignIn, payer: Host) -> None:
    task = payer.asks("pay_plain", {"amount": 5})
    page = sign_in("alice", viewport=PHONE, java_script_enabled=False)
    at(page, running_desk, task)
    page.fill("textarea[name=comment]", "to be continued")
    page.click("text=Keep as draft")
    assert page.input_value("textarea[name=comment]") == "to be continued"
    page.locator(".notes summary").click()
    page.fill("textarea[name=note]", "Is this the old one?")
    page.click("text=Leave the note")
    expect(page.locator(".notes")).to_contain_text("Is this the old one?")


@pytest.mark.parametrize("view", [WIDE, PHONE], ids=["wide", "phone"])
def test_the_answers_stay_in_view_however_long_the_arguments_are(
    view: Json, running_desk: Desk, sign_in: SignIn, payer: Host
) -> None:
    task = payer.asks("pay_long", {"amount": 1, "notes": ["line " * 40] * 300})
    page = sign_in("alice", viewport=view)
    at(page, running_desk, task)
    for share in (0, 0.3):
        page.evaluate("share => scrollTo(0, share * document.body.scrollHeight)", share)
        for verdict in ("approved", "rejected", "cancelled"):
            expect(page.locator(f"button[value={verdict}]")).to_be_in_viewport(ratio=1)
    assert not sideways(page)


def test_nothing_is_nearer_than_anything_else(running_desk: Desk, sign_in: SignIn, payer: Host) -> None:
    """R-61: the same number of keys, the same size, no focus, nothing checked."""
    task = payer.asks("pay_even", {"amount": 1})
    page = sign_in("alice", viewport=WIDE)
    at(page, running_desk, task)
    assert page.evaluate("document.activeElement === document.body")
    boxes = {value: page.locator(f"button[value={value}]").bounding_box() for value in ("approved", "rejected")}
    sizes = {(round(box["width"]), round(box["height"])) for box in boxes.values() if box}
    assert len(sizes) == 1 and page.locator("main input:checked").count() == 0
    for key, value in (("a", "approved"), ("r", "rejected"), ("x", "cancelled")):
        page.keyboard.press(key)
        expect(page.locator(f"button[value={value}]")).to_be_focused()


SEEN = ("Ledgerline", "replay class", "until", "May I?", "runs_seen", "note", "amount", "x@y.org")


def test_what_a_decision_needs_is_on_one_screen(running_desk: Desk, sign_in: SignIn, payer: Host) -> None:
    """R-62: agent, its class, who asks, deadline, tool, every argument, on 12 tasks."""
    tasks = [payer.asks("runs_seen", {"amount": n, "note": "n" * n, "to": "x@y.org"}, minutes=30) for n in range(12)]
    page = sign_in("alice", viewport=WIDE)
    for task in tasks:
        at(page, running_desk, task)
        for words in SEEN:
            expect(page.locator("main").get_by_text(words).first).to_be_in_viewport()
        for verdict in ("approved", "rejected"):
            expect(page.locator(f"button[value={verdict}]")).to_be_in_viewport(ratio=1)


def test_who_reads_and_who_is_meant_is_seen_by_the_other(running_desk: Desk, sign_in: SignIn) -> None:
    mailer = host(running_desk, "mailer", "Parcelhand", "mail")
    queues = [word for queue in ("payments", "vault", "mail") for word in ("--queue", queue)]
    running_desk.manage("add_user", "alice", "--role", "reviewer", *queues)
    task = mailer.asks("write_note")
    alice = sign_in("alice", viewport=WIDE)
    at(alice, running_desk, task)
    alice.wait_for_load_state("networkidle")
    alice.locator(".notes summary").click()
    alice.fill("textarea[name=note]", "@bob, do you know them?")
    alice.click("text=Leave the note")
    bob = sign_in("bob", viewport=WIDE)
    expect(bob.locator("#person")).to_contain_text("@1")
    at(bob, running_desk, task)
    expect(bob.locator("#readers")).to_contain_text("alice is reading this")
    expect(bob.locator(".notes")).to_contain_text("do you know them?")
    assert faults(bob) == []
    bob.goto(f"{running_desk.url}/accounts/me/")
    assert faults(bob) == []


def test_korean_fits_a_phone(running_desk: Desk, sign_in: SignIn, payer: Host, keeper: Host) -> None:
    tasks = [payer.asks("pay_ko", {"amount": 1}), keeper.asks("wire_ko", {"amount": 1})]
    page = sign_in("alice", viewport=PHONE, locale="ko-KR")
    for task in tasks:
        at(page, running_desk, task)
        assert page.locator("html").get_attribute("lang") == "ko" and not sideways(page)
    page.goto(f"{running_desk.url}/accounts/me/")
    assert not sideways(page)


def sideways(page: Page) -> bool:
    return bool(page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth"))
