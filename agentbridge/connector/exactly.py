"""Texts taken out of and put into JSON without reading them: what is passed on keeps every byte, however deep it is."""

from __future__ import annotations

import json
import re

HEAD = re.compile(rb'\s*\{\s*"(\w+)"\s*:\s*\[')
SIGNS = re.compile(rb'"(?:[^"\\]++|\\.)*+"|[\[\]{}]', re.DOTALL)


class Cut(ValueError):
    """The body ends before its list does; `found` are the objects that are there whole."""

    def __init__(self, found: list[bytes]) -> None:
        super().__init__("The answer ends before its list does.")
        self.found = found


def objects(body: bytes, name: str) -> list[bytes]:
    """The objects of the list that is the only member of the body. Raises Cut, and ValueError for anything else."""
    head = HEAD.match(body)
    if head is None or head[1] != name.encode():
        raise ValueError(f"The answer is no list of {name}.")
    found: list[bytes] = []
    depth = start = 0
    for sign in SIGNS.finditer(body, head.end()):
        if sign[0] in (b"{", b"["):
            start = sign.start() if depth == 0 else start
            depth += 1
        elif sign[0] in (b"}", b"]"):
            depth -= 1
            if depth < 0:
                return found
            if depth == 0:
                found.append(body[start : sign.end()])
    raise Cut([one for one in found if _is_json(one)])  # cut inside a string, its text may have closed the last one


def document(sent: bytes, frames: list[str]) -> bytes:
    """A whole run as the desk takes it; a frame that is no JSON goes along as the text that it is."""
    events = [frame if _is_json(frame) else json.dumps(frame) for frame in frames]
    return b'{"input":' + sent + b',"events":[' + ",".join(events).encode("utf-8", "surrogatepass") + b"]}"


def _is_json(text: str | bytes) -> bool:
    try:
        json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return False
    return True


def _refuse(constant: str) -> None:
    raise ValueError(constant)
