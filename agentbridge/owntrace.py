"""Where an agent's owner keeps a trace of a run, for whoever settles a doubt. We link there and fetch nothing.

The ids come from strangers: they are percent-encoded, and never choose the host or leave their place in the path.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import quote, unquote, urlsplit

from django.utils.translation import gettext as _

from agentbridge.models import Run
from agentbridge.net import egress

MOST = 2_000  # characters of the address as it is set
MOST_FILLED = 8_000  # an id may be 10 kB long, and servers refuse addresses of that length
PLACEHOLDER = re.compile(r"\{(thread_id|run_id)\}")
# Browsers drop some of these, or read them as another sign: `\` as `/`.
UNSAFE = re.compile(r'[^!-~]|["<>\\^`|]')
IN_HOST = re.compile(r"[^/?#]*//[^/?#]*\{")


@dataclass(frozen=True)
class OwnTrace:
    """A link, and the host to be shown beside it."""

    url: str
    host: str


def check(template: str) -> None:
    """Raises NotAllowed for what no link may be made of."""
    bare = PLACEHOLDER.sub("0", template)
    if "{" in bare or "}" in bare:
        raise egress.NotAllowed(_("Only {thread_id} and {run_id} may stand in braces."))
    if len(template) > MOST or UNSAFE.search(template):
        raise egress.NotAllowed(_("At most 2,000 characters; spaces and foreign letters percent-encoded."))
    egress.check_url(bare)
    if IN_HOST.match(template):
        raise egress.NotAllowed(_("The ids may stand behind the host only."))
    if link(template, thread_id="0", run_id="0") is None:
        raise egress.NotAllowed(_("This is not an address."))


def of_run(run: Run) -> OwnTrace | None:
    """`run` comes with its thread and its agent."""
    return link(run.thread.agent.trace_url, thread_id=run.thread.thread_id, run_id=run.run_id)


def link(template: str, *, thread_id: str, run_id: str) -> OwnTrace | None:
    """None without a template, or where these ids make no address of it: too long, or a step up in the path."""
    ids = {"thread_id": thread_id, "run_id": run_id}
    url = PLACEHOLDER.sub(lambda found: quote(ids[found[1]], safe="", errors="surrogatepass"), template)
    try:
        parts = urlsplit(url)
    except ValueError:
        return None
    # A browser walks up at `..` in a path, percent-encoded or not.
    walks = any(unquote(step) in (".", "..") for step in parts.path.split("/"))
    if parts.scheme not in ("http", "https") or walks or len(url) > MOST_FILLED:
        return None
    return OwnTrace(url, parts.netloc.rpartition("@")[2])
