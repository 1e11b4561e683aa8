"""A person's deeds from the forms of pages, without a browser: for what a story needs done before it begins."""

from __future__ import annotations

import httpx

from tests.desk import Desk


class Visitor:
    """Signed in with a password, like anybody."""

    def __init__(self, desk: Desk, name: str) -> None:
        self.http = httpx.Client(base_url=desk.url, trust_env=False, timeout=60)
        self.http.get("/accounts/login/")
        self.post("accounts/login/", username=name, password=desk.passwords[name])

    def post(self, path: str, **fields: str | list[str]) -> httpx.Response:
        """What the button of a form does; the answer as it came, a page or the way to one."""
        answer = self.http.post(f"/{path}", data={**fields, "csrfmiddlewaretoken": self.http.cookies["csrf"]})
        assert answer.status_code in (200, 302, 303), f"{path} answered {answer.status_code}: {answer.text[:500]}"
        return answer
