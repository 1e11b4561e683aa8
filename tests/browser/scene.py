"""What the pictures show: cases in every state, made the real way, and who looks at which page."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from playwright.sync_api import Page

from approvals import jsontext
from tests.browser.hosts import Host, host
from tests.desk import Desk, Json

Act = Callable[[Page], object]
HOSTILE = {
    "to": "billing@ex\u0430mple.test", "memo": "paid\u202etxt.exe\u200b now" + " " * 60 + "and more",
    "command": "<script>alert(1)</script>",
}  # fmt: skip


@dataclass(frozen=True)
class View:
    """One picture: who looks, at what, after doing what."""

    who: str
    path: str
    act: Act | None = None


class Scene:
    """A desk with a story in every state that a page shows."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        self.desk.manage("add_queue", "vault", "--risk", "high")
        self.desk.manage("add_queue", "mail", "--risk", "low")
        queues = [word for queue in ("payments", "vault", "mail") for word in ("--queue", queue)]
        self.desk.manage("add_user", "alice", "--role", "reviewer", *queues)
        self.keeper = host(desk, "keeper", "Keyholder", "vault")
        self.mailer = host(desk, "mailer", "Parcelhand", "mail")
        self.payer = host(desk, "payer", "Ledgerline EU")

    def start(self, story: str, seed: int) -> list[Json]:
        wish = {"id": "u1", "role": "user", "content": f"Please: {story}."}
        body = {"messages": [wish], "forwardedProps": {"story": story, "seed": seed}}
        thread = self.desk.post("agents/ledgerline/runs", "alice", body)["threadId"]
        return self.desk.wait_until(lambda: self.desk.open_tasks(thread), f"{story} pauses")

    def views(self) -> dict[str, View]:
        """By the name of the picture."""
        return {**self.finished(), **self.at_work(), **self.ended(), **self.around()}

    def finished(self) -> dict[str, View]:
        """Decided and run."""
        edited, rejected, chained = (self.start(story, 3)[0] for story in ("edit", "minimal", "chain"))
        changed = jsontext.replace(edited["toolCall"]["argsText"], {"/amount": "12.50", "/notify": "false"})
        self.decide_raw({**edited, "edits": changed})
        self.desk.decide(rejected, "rejected", "bob", comment="The parcel arrived.", reasonCode="not_needed")
        self.desk.decide(chained, "approved", "bob")
        for task in (edited, rejected, chained):
            self.desk.case_ends(task["case"])
        return {
            "case-decided": case("carol", edited), "case-rejected": case("carol", rejected),
            "case-chained": case("carol", chained), "audit-search": View("carol", "audit/?q=credit"),
        }  # fmt: skip

    def at_work(self) -> dict[str, View]:
        """Before a decision, in each kind of room."""
        one, several, form = (self.start(story, 7) for story in ("edit", "parallel", "form"))
        self.start("confirmation", 2)
        self.start("minimal", 9)
        self.desk.decide(several[0], "approved", "bob")
        self.desk.post(f"tasks/{one[0]['code']}/claim", "alice", None)
        edit, wire = case("alice", one[0]), case("alice", self.wire(self.keeper))
        long = self.payer.asks("import_rows", {"rows": ["row " * 30] * 200, "dry_run": False})
        return {
            "case-edit": edit, "case-parallel": case("alice", several[0]), "case-form": case("alice", form[0]),
            "case-typing": View("alice", edit.path, typing), "case-problem": View("alice", edit.path, mistake),
            "case-high": wire, "case-high-problem": View("alice", wire.path, approve),
            "case-second-look": View("alice", wire.path, sign), "case-operator": case("olga", one[0]),
            "case-low": case("alice", self.mailer.asks("send_letter", {"to": "Y. Sato", "text": "Thank you."})),
            "case-hostile": case("alice", self.payer.asks("pay_supplier", HOSTILE)),
            "case-long": case("alice", long), "case-notes": View("alice", edit.path, note),
            "precedents": View("alice", f"tasks/{one[0]['code']}/precedents/"),
        }  # fmt: skip

    def ended(self) -> dict[str, View]:
        """Too late, and taken back by those who asked."""
        gone = self.payer.asks("pay_gone", {"amount": 5})
        self.desk.post(f"cases/{gone['case']}/abandon", "olga", {"reason": "The supplier withdrew the invoice."})
        late = self.payer.asks("pay_late", {"amount": 5}, minutes=0.05)
        self.payer.asks("pay_soon", {"amount": 5}, minutes=4)
        return {"case-withdrawn": case("alice", gone), "case-expired": case("alice", late)}

    def around(self) -> dict[str, View]:
        run = self.desk.get("runs?agent=ledgerline", "carol")["runs"][0]["url"]
        return {
            "login": View("", "accounts/login/"), "queue": View("alice", "queue/"),
            "queue-empty": View("alice", "queue/?q=nothing"), "queue-grouped": View("alice", "queue/?group=tool"),
            "queue-keys": View("alice", "queue/", lambda page: page.keyboard.press("?")),
            "audit": View("carol", "audit/"), "deliveries": View("carol", "deliveries/"),
            "agents": View("olga", "agents/"), "agent": View("olga", "agents/ledgerline/"),
            "agent-new": View("adam", "agents/new/"), "run": View("carol", run), "me": View("alice", "accounts/me/"),
            "missing": View("carol", "cases/C-NONE/"),
        }  # fmt: skip

    @staticmethod
    def wire(keeper: Host) -> Json:
        args = {"amount": 48200.5, "currency": "EUR", "to_iban": "DE02 1203 0000 0000 2044 10", "reference": "INV-7719"}
        return keeper.asks("transfer_funds", args, minutes=9)

    def decide_raw(self, task: Json) -> None:
        """With the numbers as they are written."""
        body = f'{{"verdict":"approved","edits":{task["edits"]},"shownDigest":"{task["shownDigest"]}",' \
               '"comment":"The invoice says 12.50; nobody needs a notice."}'  # fmt: skip
        headers = {"authorization": f"Bearer {self.desk.tokens['alice']}", "content-type": "application/json"}
        path = f"{self.desk.url}/api/v1/tasks/{task['code']}/decision"
        self.desk.http.post(path, content=body, headers=headers).raise_for_status()


def case(who: str, task: Json) -> View:
    return View(who, f"cases/{task['case']}/")


def typing(page: Page) -> None:
    page.fill('[data-pointer="/amount"]', "12.50")
    page.fill("textarea[name=comment]", "The invoice says 12.50.")
    page.wait_for_timeout(1_500)  # the draft is kept, the difference told


def mistake(page: Page) -> None:
    page.fill('[data-pointer="/amount"]', "12,5")
    approve(page)


def approve(page: Page) -> None:
    page.click("button[value=approved]")
    page.wait_for_load_state("networkidle")


def sign(page: Page) -> None:
    page.check("[name=read_all]")
    page.fill("[name=typed]", "48200.5")
    approve(page)


def note(page: Page) -> None:
    if page.locator(".note").count() == 0:
        page.locator(".notes summary").click()
        page.fill("textarea[name=note]", "@bob, is this the invoice you asked about?")
        page.click("text=Leave the note")
    page.locator(".notes").scroll_into_view_if_needed()
