"""What auditors keep and see: questions, samples, findings, what is erased and what is held."""

from __future__ import annotations

import re
import zipfile

from tests.browser.scene import acts
from tests.browser.scene.view import Stage, View, case, record
from tests.desk import Json


def views(stage: Stage) -> dict[str, View]:
    sample, noted = worked_on(stage)
    asked, erased = erasing(stage)
    return {
        "audit": View("carol", "audit/"), "audit-search": View("carol", "audit/?q=credit"),
        "audit-more": View("carol", "audit/?verdict=approved&edited=yes&reads=yes"),
        "audit-nothing": View("carol", "audit/?q=nothing+of+this"), "audit-problem": View("carol", "audit/?since=soon"),
        "audit-reviewer": View("bob", "audit/"), "audit-korean": View("carol", "audit/", kind="korean"),
        "audit-plain": View("carol", "audit/?verdict=approved", kind="plain"),
        "audit-data": View("carol", "audit/", acts.opening(".entry-data summary")),
        "sample": View("carol", sample), "sample-korean": View("carol", sample, kind="korean"),
        "findings": View("carol", "audit/findings/?state=all"), "findings-reader": View("olga", "audit/findings/"),
        "findings-none": View("olga", "audit/findings/?state=open"), "record-findings": record("carol", noted),
        "erasures": View("carol", "audit/erasures/"), "erasures-second": View("adam", "audit/erasures/"),
        "erasures-korean": View("adam", "audit/erasures/", kind="korean"), "case-erased": case("bob", erased),
        "record-erased": record("carol", erased), "case-erasure-asked": case("carol", asked),
        "bundle": View("", bundle(stage)), **recall(stage),
    }  # fmt: skip


def decided(stage: Stage, seed: int, verdict: str = "approved") -> Json:
    """A case that is over."""
    task = stage.start("minimal", seed)[0]
    stage.desk.decide(task, verdict, "bob")
    stage.desk.case_ends(task["case"])
    return task


def worked_on(stage: Stage) -> tuple[str, Json]:
    """The address of a sample, and a case of it with an open finding and a closed one."""
    carol, task = stage.visitor("carol"), decided(stage, 21)
    asks = {"name": "Edited approvals of this quarter", "words": "verdict=approved&edited=yes", "shared": "on"}
    carol.post("audit/questions/", **asks)
    carol.post("audit/questions/", name="Rejections", words="verdict=rejected")
    drawn = carol.post("audit/samples/", words="", size="5", seed="2026-Q4", each="")
    carol.post(f"cases/{task['case']}/findings/", text="Nobody asked the customer before this went out.")
    carol.post(f"cases/{task['case']}/findings/", text="The comment names no invoice.")
    number = re.findall(r"findings/(\d+)/close/", carol.http.get("/audit/findings/").text)[0]
    carol.post(f"audit/findings/{number}/close/", reason="The invoice is in the arguments.")
    return drawn.headers["location"].lstrip("/"), task


def erasing(stage: Stage) -> tuple[Json, Json]:
    """What is asked to be erased, and what was."""
    carol, adam = stage.visitor("carol"), stage.visitor("adam")
    asked, erased, refused = (decided(stage, seed) for seed in (31, 32, 33))
    told = {"reason": "The customer asked for it.", "basis": "GDPR Art. 17(1)(b)"}
    for task in (erased, refused):
        carol.post("audit/erasures/ask/", case=task["case"], **told)
    waiting = sorted(set(re.findall(r"erasures/(\d+)/", adam.http.get("/audit/erasures/").text)), key=int)
    adam.post(f"audit/erasures/{waiting[0]}/", action="erase")
    adam.post(f"audit/erasures/{waiting[1]}/", action="refuse", because="A claim is open until March.")
    carol.post("audit/erasures/ask/", case=asked["case"], **told)
    carol.post("audit/holds/", case=refused["case"], reason="Claim 7 of Parcelhand")
    carol.post("audit/holds/", queue="mail", reason="Inquiry of the regulator")
    adam.post("audit/retention/", days="365", basis="AI Act Art. 26(6)", queue="payments")
    return asked, erased


def bundle(stage: Stage) -> str:
    """The page that an evidence bundle brings along for people."""
    file = stage.desk.folder / "evidence.zip"
    stage.desk.manage("export_audit", "--out", str(file), "--verb", "task.decided")
    with zipfile.ZipFile(file) as opened:
        name = next(name for name in opened.namelist() if name.endswith(".html"))
        page = stage.desk.folder / "summary.html"
        page.write_bytes(opened.read(name))
    return page.as_uri()


def recall(stage: Stage) -> dict[str, View]:
    """The last stories: from here on answers wait before they leave."""
    desk = stage.desk
    desk.settings["UNDO_SECONDS"] = "86400"
    desk.end("serve")
    desk.start("serve")
    task = stage.start("minimal", 41)[0]
    desk.decide(task, "approved", "bob", comment="As agreed.")
    taken_back = stage.start("minimal", 42)[0]
    desk.decide(taken_back, "rejected", "bob")
    desk.post(f"cases/{taken_back['case']}/recall", "bob", {})
    return {"case-recall": case("bob", task), "record-recalled": record("carol", taken_back),
            "case-held": case("alice", task), "case-recalled": case("bob", taken_back)}  # fmt: skip
