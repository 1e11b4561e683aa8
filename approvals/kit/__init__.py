"""The verdict kit: how a verdict becomes an answer, without a word of any protocol.

Frozen on the task when it is opened, and used by buttons, forms, API and checks alike. Whoever asks decides what is in
it; `standard_kit` has the plain rules. Sentences in a kit are stored in English and translated where they are shown.
"""

from approvals.kit.answering import Meaning, Unanswerable
from approvals.kit.standard import standard_kit
from approvals.kit.verdicts import ANSWERED, APPROVED, CANCELLED, REJECTED, AnswerForm, VerdictKit

__all__ = [
    "ANSWERED",
    "APPROVED",
    "CANCELLED",
    "REJECTED",
    "AnswerForm",
    "Meaning",
    "Unanswerable",
    "VerdictKit",
    "standard_kit",
]
