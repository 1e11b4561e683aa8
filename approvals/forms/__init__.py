"""Forms for JSON that somebody else's schema describes: built on the server, read without a script, losing nothing.

`build` makes the tree that `templates/approvals/fields/_editor.html` draws; `read` makes JSON of what was posted.
Controls are named by JSON Pointer and read against what they held when nobody touched them: an untouched one keeps the
bytes of its value.
"""

from approvals.forms.fields import Field, FieldTree, Option
from approvals.forms.filling import build, read
from approvals.forms.posted import Names, Posted
from approvals.forms.reading import Read

__all__ = ["Field", "FieldTree", "Names", "Option", "Posted", "Read", "build", "is_structural", "read"]


def is_structural(post: object) -> bool:
    """Whether a button inside a form was pressed (add, take out, …): the form is shown again and nothing is sent."""
    get = getattr(post, "get", dict[str, str]().get)
    return Posted({"action": get("action") or ""}, Names()).is_structural
