"""What users say in a history of messages. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from approvals import jsontext


def words_of_users(messages: Sequence[str]) -> Iterator[str]:
    """The text of every user message; of one in parts, its texts. Servers keep either form, and other ids than ours."""
    for text in messages:
        message = jsontext.loads(text)
        if isinstance(message, dict) and message.get("role") == "user":
            yield _words(message.get("content"))


def _words(content: object) -> str:
    if type(content) is str:
        return content
    parts = content if isinstance(content, list) else []
    texts = [part.get("text") for part in parts if isinstance(part, dict)]
    return "\n".join(text for text in texts if type(text) is str)
