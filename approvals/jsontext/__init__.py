"""JSON whose bytes survive: read strictly, change one place, leave every other byte alone.

Pure. Numbers are kept as they were written (`Number`), so `1.0`, `1e3` and integers of any size stay what they are.
Nothing here recurses over a document: a thousand brackets are data, not a crash.
"""

from approvals.jsontext.comparing import changed_paths, same
from approvals.jsontext.places import items, member, members, named
from approvals.jsontext.pointers import parts, pointer
from approvals.jsontext.reading import Document, Node, loads, parse
from approvals.jsontext.splicing import replace
from approvals.jsontext.values import JSONTextError, Number, plain
from approvals.jsontext.writing import dumps, pretty, printable, storable

__all__ = [
    "Document",
    "JSONTextError",
    "Node",
    "Number",
    "changed_paths",
    "dumps",
    "items",
    "loads",
    "member",
    "members",
    "named",
    "parse",
    "parts",
    "plain",
    "pointer",
    "pretty",
    "printable",
    "replace",
    "same",
    "storable",
]
