"""What waits for people: the filters of the queue, its pages, its counts, its views, and what is new in it.

Everything here is flat in the number of open tasks: a page reads one index from a place on, and nothing is counted
beyond `COUNTED`.
"""

from approvals.waiting.counting import COUNTED, SOON_MINUTES, Counted, Facet, Glance, count, glance, newest_seq
from approvals.waiting.filters import GROUPS, STATES, VERDICTS, Filters
from approvals.waiting.pages import PAGE, Page, following, page, still_shown
from approvals.waiting.selecting import matching, may_claim

__all__ = [
    "COUNTED",
    "GROUPS",
    "PAGE",
    "SOON_MINUTES",
    "STATES",
    "VERDICTS",
    "Counted",
    "Facet",
    "Filters",
    "Glance",
    "Page",
    "count",
    "following",
    "glance",
    "matching",
    "may_claim",
    "newest_seq",
    "page",
    "still_shown",
]
