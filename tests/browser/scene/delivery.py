"""What agents make of an answer, and what an operator sees of it at three in the morning."""

from __future__ import annotations

from functools import partial

from playwright.sync_api import Page

from tests.browser.scene import acts
from tests.browser.scene.view import Act, Stage, View, case, record
from tests.desk import Json
from tests.scripted_agent import (
    HANG,
    RESET,
    Answer,
    call,
    failed,
    finished,
    finishing,
    frame,
    interrupt,
    pausing,
    result,
    started,
)

DENIED = Answer([started(), result("Call denied by the user."), finished()])
LOCKED = Answer([started(), call("look_up", "{}", "tc-9"), failed("The ledger is locked until 06:00.", "LOCKED")])
REFUSED = Answer([started(), failed("The answer is not what I asked for.", "INVALID_PAYLOAD")])
ODD = Answer(
    [
        started(), frame(type="TOOL_CALL_ARGS", toolCallId="nowhere", delta="{}"),
        frame(type="TEXT_MESSAGE_CONTENT", messageId="m-9", delta="out of place"), finished(),
    ]
)  # fmt: skip
NEVER_BEGAN = Answer([frame(type="STEP_STARTED", stepName="look"), started(), finished()])
AFTER_THE_ERROR = Answer([started(), call(), failed("boom"), finished(interrupt())])
# Each pair: the pause, and what comes when it was answered.
ENDINGS = {
    "incident": DENIED, "agent-error": LOCKED, "refused": REFUSED, "unknown": Answer([started(), call()]),
    "doubt": Answer([RESET], head=False), "done": Answer([RESET], head=False), "given-up": Answer([RESET], head=False),
}  # fmt: skip


def views(stage: Stage) -> dict[str, View]:
    ended, running = endings(stage)
    odd, moved = runs(stage), moved_away(stage)
    settle = acts.opening("#case-delivery summary")
    return {
        **{f"case-{name}": case("olga", task) for name, task in ended.items()},
        "case-doubt-settling": case("olga", ended["doubt"], settle),
        "case-doubt-reviewer": case("alice", ended["doubt"]),
        "case-doubt-korean": case("olga", ended["doubt"], kind="korean"),
        "record-doubt": record("carol", ended["doubt"]),
        "record-incident": record("carol", ended["incident"]), "case-running": case("bob", running),
        "case-quarantined": case("olga", odd, settle), "case-quarantined-reviewer": case("alice", odd),
        "case-moved": case("olga", moved, settle), "agent-moved": View("olga", "agents/mover/"),
        "deliveries": View("olga", "deliveries/"), "deliveries-all": View("carol", "deliveries/?view=all"),
        "deliveries-ended": View("olga", "deliveries/?view=ended"),
        "deliveries-empty": View("olga", "deliveries/?view=under_way&agent=payer"),
        "deliveries-reviewer": View("alice", "deliveries/"),
        "deliveries-plain": View("olga", "deliveries/", kind="plain"),
        "deliveries-korean": View("olga", "deliveries/", kind="korean"),
        "deliveries-settling": View("olga", "deliveries/", acts.opening("#delivery-table summary")),
        "deliveries-closing": View("olga", "deliveries/", acts.opening("#open-incidents summary")),
        **of_agents(stage),
    }  # fmt: skip


def endings(stage: Stage) -> tuple[dict[str, Json], Json]:
    """One case for each way in which a delivery ends, by its name; and one whose run is under way."""
    script = [answer for ending in ENDINGS.values() for answer in (pausing(), ending)]
    hanging = Answer([started(), HANG])
    stage.scripted("courier", "Courier", *script, pausing(), hanging)
    tasks = {}
    for name in ENDINGS:
        (tasks[name],) = stage.runs("courier", f"Pay the courier ({name}).")
        stage.approve(tasks[name], "finished", "agent_error", "outcome_unknown", "in_doubt", "rejected")
    settle = {"done": ("mark_done", "Seen in the ledger at 09:14."), "given-up": ("abandon", "Paid by hand instead.")}
    for name, (action, reason) in settle.items():
        told = {"action": action, "reason": reason}
        stage.desk.post(f"cases/{tasks[name]['case']}/resolve-doubt", "olga", told)
    told = {"action": "answer_again", "reason": "The form was wrong."}
    stage.desk.post(f"cases/{tasks['refused']['case']}/resolve-doubt", "olga", told)
    later = stage.desk.get(f"cases/{tasks['refused']['case']}", "olga")["next"]
    tasks["asked-again"] = {"case": later}
    (running,) = stage.runs("courier", "Pay the courier, and take your time.")
    stage.approve(running, "accepted")
    return tasks, running


def runs(stage: Stage) -> Json:
    """Runs that broke the protocol in small and in great; the task of the one whose question came too late."""
    stage.scripted("stray", "Stray", ODD, NEVER_BEGAN, Answer([started()]), Answer([], status=401), AFTER_THE_ERROR)
    for number in range(5):
        told = {"messages": [{"id": "u1", "role": "user", "content": f"Try {number}"}]}
        run = stage.desk.post("agents/stray/runs", "alice", told)["runId"]
        stage.desk.wait_until(partial(has_ended, stage, run), f"run {number} of the stray agent ends")
    task: Json = stage.desk.get("tasks?agent=stray", "olga")["tasks"][0]
    return task


def has_ended(stage: Stage, run: str) -> bool:
    told = stage.desk.get("runs?agent=stray&all=1", "olga")["runs"]
    return any(one["runId"] == run and one["status"] not in ("queued", "running") for one in told)


def moved_away(stage: Stage) -> Json:
    """Answered while the agent was out of reach, and then it was given another address."""
    agent = stage.scripted("mover", "Mover", pausing(), finishing())
    (task,) = stage.runs("mover", "Pay the mover.")
    agent.down()
    stage.approve(task, "ready")
    told = {"name": "Mover", "url": "https://mover.invalid/agui", "queue": "payments", "dialect": "auto"}
    stage.visitor("adam").post("agents/mover/edit/", replay="unknown", **told)
    stage.desk.wait_until(lambda: stage.desk.get(f"cases/{task['case']}", "olga")["blocked"], "the case is blocked")
    return task


def of_agents(stage: Stage) -> dict[str, View]:
    stage.start("confirmation", 5)
    first = {run["status"]: run["url"] for run in stage.desk.get("runs?agent=stray&all=1", "olga")["runs"]}
    paused = stage.desk.get("runs?agent=ledgerline", "carol")["runs"][0]["url"]
    stage.visitor("adam").post("agents/keeper/switch/", to="off")
    return {
        "agents": View("olga", "agents/"), "agents-admin": View("adam", "agents/"),
        "agents-none": View("nils", "agents/"),
        "agents-korean": View("olga", "agents/", kind="korean"),
        "agent": View("olga", "agents/ledgerline/"), "agent-reviewer": View("alice", "agents/ledgerline/"),
        "agent-korean": View("olga", "agents/stray/", kind="korean"), "agent-report": View("olga", "agents/stray/"),
        "agent-off": View("adam", "agents/keeper/"), "agent-tokens": View("adam", "agents/mailer/", new_token),
        "agent-tested": View("olga", "agents/courier/", tested),
        "agent-replay": View("olga", "agents/courier/", replay),
        "agent-start-refused": View("alice", "agents/courier/", start_on_a_busy_thread(stage)),
        "agent-new": View("adam", "agents/new/"), "agent-edit": View("adam", "agents/courier/edit/"),
        "agent-problem": View("adam", "agents/new/", acts.ask_for_an_agent),
        "run": View("carol", paused), **{f"run-{status}": View("olga", url) for status, url in first.items()},
        "run-korean": View("olga", first["rejected"], kind="korean"),
    }  # fmt: skip


def new_token(page: Page) -> None:
    page.click("text=New host token")
    page.wait_for_load_state()


def tested(page: Page) -> None:
    page.click("text=Test connection")
    page.wait_for_load_state()


def replay(page: Page) -> None:
    page.click("text=Set the replay class")


def start_on_a_busy_thread(stage: Stage) -> Act:
    def act(page: Page) -> None:
        thread = stage.desk.get("runs?agent=courier", "alice")["runs"][0]["threadId"]
        page.fill("form[action$='/start/'] [name=thread]", thread)
        page.fill("form[action$='/start/'] [name=message]", "Go on.")
        page.locator("form[action$='/start/'] button").click()
        page.wait_for_load_state()

    return act
