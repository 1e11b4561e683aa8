"""The queue as a team uses it: shared views, news that move nothing, lists, not now. One desk for all stories."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from tests import desk as desks
from tests.browser.hosts import Host, host
from tests.desk import Desk
from tests.trails import desk_is_good

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("browser")]
SignIn = Callable[..., Page]


@pytest.fixture(scope="module")
def running_desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    """Without a worker: nothing here leaves the desk."""
    with desks.running(tmp_path_factory.mktemp("desk"), "serve") as running:
        yield running
        desk_is_good(running)


@pytest.fixture(scope="module")
def payer(running_desk: Desk) -> Host:
    return host(running_desk, "payer", "Ledgerline")


@pytest.fixture(scope="module")
def mailer(running_desk: Desk) -> Host:
    return host(running_desk, "mailer", "Parcelhand")


def open_queue(page: Page, desk: Desk, query: str = "?state=open") -> None:
    page.goto(f"{desk.url}/queue/{query}")
    page.wait_for_selector("live-feed[data-state=live]", state="attached")


def top(page: Page, task: dict[str, str]) -> float:
    """Where its line stands on the screen."""
    return float(page.locator(row(page, task)).evaluate("line => line.getBoundingClientRect().top"))


def row(page: Page, task: dict[str, str]) -> str:
    return f"#task-{task['code']}"


def test_a_view_is_kept_shared_and_opened_with(running_desk: Desk, sign_in: SignIn, payer: Host, mailer: Host) -> None:
    paid, mailed = payer.asks("pay_view", {"amount": "1"}), mailer.asks("mail_view", {"to": "x"})
    alice = sign_in("alice", viewport={"width": 1280, "height": 800})
    alice.goto(f"{running_desk.url}/queue/?state=open")
    alice.locator("#filters").get_by_label("mail_view").check()
    alice.locator("#filters button").click()
    expect(alice.locator(row(alice, mailed))).to_be_visible()
    expect(alice.locator(row(alice, paid))).to_have_count(0)
    alice.click("text=Keep this view")
    alice.fill("#view-name", "Mail only")
    alice.get_by_label("for everybody").check()
    alice.get_by_label("open the queue with it").check()
    alice.click("#keep-view button")
    alice.goto(f"{running_desk.url}/queue/")
    expect(alice).to_have_url(re.compile("tool=mail_view"))
    bob = sign_in("bob", viewport={"width": 1280, "height": 800})
    bob.click("text=Mail only")
    expect(bob.locator(row(bob, mailed))).to_be_visible()
    expect(bob.locator(row(bob, paid))).to_have_count(0)
    alice.click("text=Remove")


def test_news_show_and_nothing_moves_or_is_lost(running_desk: Desk, sign_in: SignIn, payer: Host) -> None:
    first, second, third = (payer.asks("pay", {"amount": str(n)}, minutes=60 + n) for n in range(3))
    page = sign_in("alice", viewport={"width": 1280, "height": 800})
    open_queue(page, running_desk, "?tool=pay&tool=urgent")
    page.fill("#q", "half a wo")
    page.locator(f"{row(page, third)} [type=checkbox]").check()
    page.hover(row(page, second))
    before = top(page, second)
    sooner = payer.asks("urgent", {"amount": "9"}, minutes=30)
    expect(page.locator(row(page, sooner))).to_be_visible()
    running_desk.post(f"tasks/{third['code']}/claim", "bob", None)
    expect(page.locator(row(page, third))).to_contain_text("bob")
    running_desk.decide(first, "rejected", "bob")
    expect(page.locator(row(page, first))).to_contain_text("rejected by bob")
    assert abs(top(page, second) - before) <= 1
    expect(page.locator("#q")).to_have_value("half a wo")
    expect(page.locator(f"{row(page, third)} [type=checkbox]")).to_be_checked()
    expect(page).to_have_title(re.compile(r"^\(\d+\) Queue"))
    expect(page.locator("#queue-news [role=status]")).to_have_text(re.compile("new task"))


def test_a_task_that_runs_out_says_so_in_its_place(running_desk: Desk, sign_in: SignIn, payer: Host) -> None:
    page = sign_in("alice", viewport={"width": 1280, "height": 800})
    open_queue(page, running_desk, "?tool=brief")
    task = payer.asks("brief", {"amount": "1"}, minutes=20 / 60)
    expect(page.locator(row(page, task))).to_be_visible()
    expect(page.locator(row(page, task))).to_contain_text("expired")


def test_without_a_socket_the_page_still_hears_of_news(running_desk: Desk, sign_in: SignIn, payer: Host) -> None:
    page = sign_in("alice", viewport={"width": 1280, "height": 800})
    page.route_web_socket("**/live/", lambda socket: socket.close())
    page.goto(f"{running_desk.url}/queue/?tool=polled")
    page.wait_for_selector("live-feed:not([data-state=live])[data-state]", state="attached")
    task = payer.asks("polled", {"amount": "1"})
    expect(page.locator(row(page, task))).to_be_visible()


def test_a_list_is_decided_and_says_what_became_of_each(running_desk: Desk, sign_in: SignIn, mailer: Host) -> None:
    tasks = [mailer.asks("tag", {"ticket": "HELP-9"}) for _number in range(3)]
    page = sign_in("alice", viewport={"width": 1280, "height": 800})
    open_queue(page, running_desk, "?tool=tag&group=tool")
    page.click(".group-head a.btn")
    expect(page.locator("#equal-1")).to_have_text("3 are equal to the byte")
    running_desk.decide(tasks[1], "rejected", "bob")
    page.fill("#comment-1", "as agreed")
    page.click("text=Approve all 3")
    expect(page.locator("h1")).to_have_text("2 of 3 decided")
    expect(page.locator(f"#outcome-{tasks[1]['code']}")).to_contain_text("Already decided by bob")
    told = [running_desk.get(f"tasks/{task['code']}")["decision"] for task in tasks]
    assert [(one["verdict"], one["by"]) for one in told] == [
        ("approved", "alice"), ("rejected", "bob"), ("approved", "alice"),
    ]  # fmt: skip


def test_not_now_and_back_by_keyboard(running_desk: Desk, sign_in: SignIn, payer: Host) -> None:
    tasks = [payer.asks("later", {"amount": str(n)}, minutes=60 + n) for n in range(2)]
    page = sign_in("alice", viewport={"width": 1280, "height": 800})
    open_queue(page, running_desk, "?tool=later")
    for key in "jjkc":
        page.keyboard.press(key)
    expect(page.locator(row(page, tasks[0]))).to_contain_text("you, just now")
    page.keyboard.press("z")
    page.fill("#note", "ask Mina")
    page.click("text=in 15 minutes")
    expect(page).to_have_url(re.compile("tool=later"))
    expect(page.locator(row(page, tasks[0]))).to_have_count(0)
    expect(page.locator(row(page, tasks[1]))).to_be_visible()
    page.goto(f"{running_desk.url}/queue/?aside=1")
    expect(page.locator(row(page, tasks[0]))).to_contain_text("ask Mina")


@pytest.mark.parametrize("script", [True, False])
def test_a_phone_reads_all_of_it(running_desk: Desk, sign_in: SignIn, mailer: Host, script: bool) -> None:
    tasks = [mailer.asks(f"phone{script}", {"to": "x" * 300, "n": str(n)}) for n in range(3)]
    page = sign_in("bob", viewport={"width": 320, "height": 640}, java_script_enabled=script)
    for path in (f"queue/?tool=phone{script}&group=tool", "queue/side-by-side/?task=" + tasks[0]["code"]):
        page.goto(f"{running_desk.url}/{path}")
        assert page.locator(f"a[href*='{tasks[0]['case']}']").first.is_visible()
        if script:
            assert page.evaluate("document.documentElement.scrollWidth") <= 320
    page.goto(f"{running_desk.url}/tasks/{tasks[0]['code']}/not-now/")
    page.click("text=in 1 hour")
    page.goto(f"{running_desk.url}/queue/?tool=phone{script}")
    assert page.locator(row(page, tasks[0])).count() == 0


@pytest.mark.parametrize("look", [(1280, "light"), (360, "dark")])
def test_every_state_of_the_queue_passes_axe(
    running_desk: Desk, sign_in: SignIn, payer: Host, look: tuple[int, str]
) -> None:
    tasks = [payer.asks("axe", {"amount": f"{n}.00", "why": "x"}, minutes=30) for n in range(4)]
    tasks += [payer.asks("axe", {"amount": "900.00", "why": "y"}, minutes=1.5), payer.question("Which account?")]
    page = sign_in("alice", viewport={"width": look[0], "height": 800}, color_scheme=look[1])
    codes = "&".join(f"task={task['code']}" for task in tasks)
    lists = ("queue/?tool=axe", "queue/?group=tool", "queue/?aside=1", "queue/side-by-side/")
    asked = (f"tasks/{tasks[0]['code']}/{what}/" for what in ("not-now", "take-over"))
    found = {}
    for path in (*lists, *asked, f"queue/side-by-side/?{codes}"):
        page.goto(f"{running_desk.url}/{path}")
        page.wait_for_load_state("networkidle")
        found[path] = [fault["id"] + fault["nodes"][0]["html"] for fault in Axe().run(page).response["violations"]]
    assert {path: said for path, said in found.items() if said} == {}


def test_the_queue_speaks_korean(running_desk: Desk, sign_in: SignIn, payer: Host) -> None:
    payer.asks("korean", {"amount": "1"})
    page = sign_in("bob", locale="ko-KR", extra_http_headers={"Accept-Language": "ko"})
    page.goto(f"{running_desk.url}/queue/?group=tool")
    assert page.locator("html").get_attribute("lang") == "ko"
    expect(page.locator("#queue-list")).to_contain_text("korean")


NOTICES = """
  window.notices = [];
  window.Notification = class { constructor(app, said) { notices.push(said.body); } addEventListener() {} };
  Notification.permission = "granted"; Notification.requestPermission = async () => "granted";
  Object.defineProperty(document, "hidden", { get: () => true });
"""


def test_much_at_once_is_one_notification(running_desk: Desk, sign_in: SignIn, payer: Host) -> None:
    page = sign_in("alice", viewport={"width": 1280, "height": 800})
    page.add_init_script(NOTICES)
    open_queue(page, running_desk, "?tool=flood")
    page.click("#queue-news button")
    began = page.evaluate("performance.now()")
    expect(page.locator("#queue-news button")).to_have_text("New tasks are told")
    for number in range(6):
        payer.asks("flood", {"amount": str(number)})
    expect(page.locator("#queue-list .row")).to_have_count(6)
    page.wait_for_function("notices.length > 0")
    page.wait_for_timeout(1_000)
    seconds = (page.evaluate("performance.now()") - began) / 1_000
    assert page.evaluate("notices.length") <= 1 + seconds // 10
