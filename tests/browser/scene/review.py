"""What reviewers see: cases to decide in each kind of room, decided ones, and the queue in all its shapes."""

from __future__ import annotations

import json
import secrets

from playwright.sync_api import Page

from approvals import jsontext
from tests.browser.scene import acts
from tests.browser.scene.view import Act, Stage, View, case, record
from tests.desk import Json
from tests.scripted_agent import call, interrupt

HOSTILE = {
    "to": "billing@ex\u0430mple.test", "memo": "paid\u202etxt.exe\u200b now" + " " * 60 + "and more",
    "command": "<script>alert(1)</script>",
}  # fmt: skip
WIRE = {"amount": 48200.5, "currency": "EUR", "to_iban": "DE02 1203 0000 0000 2044 10", "reference": "INV-7719"}


def finished(stage: Stage) -> dict[str, View]:
    """Decided and run."""
    edited, rejected, chained = (stage.start(story, 3)[0] for story in ("edit", "minimal", "chain"))
    changed = jsontext.replace(edited["toolCall"]["argsText"], {"/amount": "12.50", "/notify": "false"})
    decide_raw(stage, edited, changed)
    stage.desk.decide(rejected, "rejected", "bob", comment="The parcel arrived.", reasonCode="not_needed")
    stage.desk.decide(chained, "approved", "bob")
    for task in (edited, rejected, chained):
        stage.desk.case_ends(task["case"])
    return {
        "case-decided": case("carol", edited), "case-rejected": case("carol", rejected),
        "case-chained": case("carol", chained), "record": record("carol", edited),
        "record-chain": record("carol", chained, "?chain=1"), "record-paper": record("carol", edited, kind="paper"),
        "record-korean": record("carol", edited, kind="korean"), "record-reviewer": record("bob", edited),
    }  # fmt: skip


def at_work(stage: Stage) -> dict[str, View]:
    """Before a decision, in each kind of room."""
    one, several, form, yes_no = (stage.start(story, 7)[0] for story in ("edit", "parallel", "form", "confirmation"))
    stage.start("confirmation", 2)
    stage.start("minimal", 9)
    stage.desk.decide(several, "approved", "bob")
    stage.desk.post(f"tasks/{one['code']}/claim", "alice", None)
    edit, wire = case("alice", one), case("alice", stage.keeper.asks("transfer_funds", WIRE, minutes=9))
    asked = case("alice", stage.payer.question("Which cost centre shall I book the courier on?"))
    return {
        "case-edit": edit, "case-parallel": case("alice", several), "case-form": case("alice", form),
        "case-form-problem": case("alice", form, acts.answer), "case-yes-no": case("alice", yes_no),
        "case-question": asked, "case-typing": View("alice", edit.path, acts.typing),
        "case-problem": View("alice", edit.path, acts.mistake), "case-unfolded": View("alice", edit.path, acts.unfold),
        "case-high": wire, "case-high-problem": View("alice", wire.path, acts.approve),
        "case-second-look": View("alice", wire.path, acts.sign), "case-operator": case("olga", one),
        "case-notes": View("alice", edit.path, acts.note), "case-auditor": case("carol", one),
        "case-plain": View("alice", edit.path, kind="plain"), "case-korean": View("alice", edit.path, kind="korean"),
        "case-high-korean": View("alice", wire.path, kind="korean"),
        "case-contrast": View("alice", edit.path, kind="contrast"),
        "case-forced": View("alice", edit.path, kind="forced"), "case-paper": View("alice", edit.path, kind="paper"),
        "case-part-delivery": View("alice", f"{edit.path}delivery/"),
        "case-part-runs": View("alice", f"{edit.path}runs/"),
        "case-signed-out": View("alice", edit.path, acts.lose_the_session, kind="apart"),
        "case-presence": case("alice", one, read_by_another(stage, one)),
        "precedents": View("alice", f"tasks/{one['code']}/precedents/"), "not-now": asking(one, "not-now"),
        "not-now-problem": asking(one, "not-now", lambda page: page.click("text=Set aside")),
    }  # fmt: skip


def unusual(stage: Stage) -> dict[str, View]:
    """Cases that hold something which makes one stop."""
    long = stage.payer.asks("import_rows", {"rows": ["row " * 30] * 200, "dry_run": False})
    secret = stage.payer.asks("store_key", {"api_key": "sk-live-0123456789abcdefgh", "service": "mail-relay"})
    letter = stage.mailer.asks("send_letter", {"to": "Y. Sato", "text": "Thank you."})
    both, broken = two_queues(stage), pushed(stage, b"", interrupt(message="May I?"))
    gone = stage.payer.asks("pay_gone", {"amount": 5})
    stage.desk.post(f"cases/{gone['case']}/abandon", "olga", {"reason": "The supplier withdrew the invoice."})
    again = stage.payer.asks("pay_again", {"amount": 5}, thread="thread-again")
    stage.payer.asks("pay_again", {"amount": 6}, thread="thread-again")
    unread = pushed(stage, call("pay_unread"), interrupt(message="May I?", expiresAt="next Tuesday"))
    nameless = pushed(stage, call("pay_nameless"), {"reason": "tool_call", "toolCallId": "tc-1", "message": "May I?"})
    many = case("alice", refunds(stage))
    late = stage.payer.asks("pay_late", {"amount": 5}, minutes=0.05)
    stage.payer.asks("pay_soon", {"amount": 5}, minutes=4)
    return {
        "case-low": case("alice", letter), "case-hostile": case("alice", stage.payer.asks("pay_supplier", HOSTILE)),
        "case-long": case("alice", long), "text-whole": View("alice", f"tasks/{long['code']}/text/arguments/"),
        "case-secret": case("alice", secret), "case-two-queues": case("bob", both),
        "case-broken": case("alice", broken), "case-many": many, "record-many": View("carol", f"{many.path}record/"),
        "case-withdrawn": case("alice", gone), "case-superseded": case("alice", again),
        "case-unreadable-deadline": case("alice", unread), "case-blocked": case("alice", nameless),
        "case-blocked-operator": case("olga", nameless), "case-expired": case("alice", late),
        "case-expired-operator": case("olga", late, acts.opening(".settle summary, #case-delivery summary")),
        "precedents-empty": View("alice", f"tasks/{letter['code']}/precedents/"),
    }  # fmt: skip


def in_the_queue(stage: Stage) -> dict[str, View]:
    alice, desk = stage.visitor("alice"), stage.desk
    rents = [stage.payer.asks("send_reminder", {"to": "r.diaz@example.test", "days": n}) for n in (7, 7, 7, 30)]
    desk.post(f"tasks/{rents[1]['code']}/claim", "bob", None)
    later = stage.payer.asks("pay_rent", {"amount": 820, "month": "December"})
    alice.post(f"tasks/{later['code']}/not-now/", until="2999-01-01T09:00", other="", note="after Mina is back")
    alice.post("queue/views/", name="Mail only", query="queue=mail", shared="1")
    alice.post("queue/views/", name="Large amounts of the next quarter", query="q=amount")
    chosen = "queue/side-by-side/?" + "&".join(f"task={task['code']}" for task in rents)
    return {
        "queue": View("alice", "queue/"), "queue-empty": View("alice", "queue/?q=nothing"),
        "queue-grouped": View("alice", "queue/?group=tool"), "queue-threads": View("alice", "queue/?group=thread"),
        "queue-filters": View("alice", "queue/#filters"),
        "queue-keys": View("alice", "queue/", lambda page: page.keyboard.press("?")),
        "queue-aside": View("alice", "queue/?aside=1"),
        "queue-decided": View("alice", "queue/?state=settled"), "queue-expired": View("alice", "queue/?state=expired"),
        "queue-gone": View("alice", "queue/?tool=pay_just_now", decided_meanwhile(stage)),
        "queue-operator": View("olga", "queue/"), "queue-nothing": View("nora", "queue/"),
        "queue-no-queue": View("nils", "queue/"), "queue-plain": View("alice", "queue/", kind="plain"),
        "queue-korean": View("alice", "queue/", kind="korean"),
        "queue-contrast": View("alice", "queue/", kind="contrast"),
        "queue-forced": View("alice", "queue/", kind="forced"), "queue-paper": View("alice", "queue/", kind="paper"),
        "queue-keep-view": View("alice", "queue/?queue=payments", acts.opening("summary:has-text('Keep this view')")),
        "side-by-side": View("alice", chosen), "side-by-side-empty": View("alice", "queue/side-by-side/"),
        "side-by-side-korean": View("alice", chosen, kind="korean"),
        "list-outcome": View("alice", "queue/", in_a_list(stage)),
        "take-over": asking(rents[1], "take-over"), "not-now-late": asking(soon(stage), "not-now"),
        "me": View("bob", "accounts/me/"), "me-problem": View("alice", "accounts/me/", same_key_twice),
        "me-korean": View("bob", "accounts/me/", kind="korean"),
    }  # fmt: skip


def asking(task: Json, what: str, act: Act | None = None) -> View:
    return View("alice", f"tasks/{task['code']}/{what}/", act)


def read_by_another(stage: Stage, task: Json) -> Act:
    def act(page: Page) -> None:
        stage.visitor("bob").post(f"cases/{task['case']}/reading/")
        page.reload()
        page.wait_for_selector("#readers .tag")

    return act


def soon(stage: Stage) -> Json:
    return stage.payer.asks("pay_now", {"amount": 5}, minutes=2)


def same_key_twice(page: Page) -> None:
    page.fill("[name=key-reject]", page.input_value("[name=key-approve]"))
    page.click("text=Save")
    page.wait_for_load_state()


def decided_meanwhile(stage: Stage) -> Act:
    def act(page: Page) -> None:
        first, _second = (stage.payer.asks("pay_just_now", {"amount": n}) for n in (5, 6))
        page.goto(page.url)
        page.wait_for_selector("live-feed[data-state=live]", state="attached")
        stage.desk.decide(first, "rejected", "bob")
        page.wait_for_selector(".row-gone")

    return act


def in_a_list(stage: Stage) -> Act:
    """Three equal ones, one of which somebody else was faster with."""

    def act(page: Page) -> None:
        tasks = [stage.payer.asks("tag_ticket", {"ticket": "HELP-9"}) for _number in range(3)]
        chosen = "&".join(f"task={task['code']}" for task in tasks)
        page.goto(f"{stage.desk.url}/queue/side-by-side/?{chosen}")
        stage.desk.decide(tasks[1], "rejected", "bob")
        page.click("text=Approve all 3")
        page.wait_for_load_state()

    return act


def two_queues(stage: Stage) -> Json:
    """One run that asks two groups; the task of payments."""
    thread, words = f"thread-{secrets.token_hex(6)}", ("--queue", "payments", "--route", "write_letter=mail")
    stage.desk.manage("add_agent", "payer", "https://agent.invalid/", "--name", "Ledgerline EU", *words)
    calls = call("pay_invoice", json.dumps({"amount": 71}), "tc-1") + call("write_letter", '{"to": "Y. Sato"}', "tc-2")
    stage.payer.push(thread, calls, interrupt("int-1", "tc-1"), interrupt("int-2", "tc-2"))
    return stage.desk.open_tasks(thread, "bob")[0]


def refunds(stage: Stage) -> Json:
    """The first of more tasks than one page shows whole; some are decided."""
    thread, numbers = f"thread-{secrets.token_hex(6)}", range(1, 71)
    told = ({"order": f"A-{2000 + n}", "amount": 4.5 * n, "note": "The parcel never arrived."} for n in numbers)
    calls = b"".join(call("refund", json.dumps(args), f"tc-{n}") for n, args in zip(numbers, told, strict=True))
    stage.payer.push(thread, calls, *(interrupt(f"int-{n}", f"tc-{n}") for n in numbers))
    first, second, third, *_rest = stage.desk.open_tasks(thread)
    stage.desk.decide(second, "approved")
    stage.desk.decide(third, "rejected", "bob")
    return first


def pushed(stage: Stage, calls: bytes, question: Json) -> Json:
    """The task of a question that is not as it should be, whatever its state."""
    thread = f"thread-{secrets.token_hex(6)}"
    stage.payer.push(thread, calls, question)
    task: Json = stage.desk.get(f"tasks?thread={thread}", "olga")["tasks"][0]
    return task


def decide_raw(stage: Stage, task: Json, edits: str) -> None:
    """With the numbers as they are written."""
    body = f'{{"verdict":"approved","edits":{edits},"shownDigest":"{task["shownDigest"]}",' \
           '"comment":"The invoice says 12.50; nobody needs a notice."}'  # fmt: skip
    headers = {"authorization": f"Bearer {stage.desk.tokens['alice']}", "content-type": "application/json"}
    path = f"{stage.desk.url}/api/v1/tasks/{task['code']}/decision"
    stage.desk.http.post(path, content=body, headers=headers).raise_for_status()
