"""The programs that go with every bundle, each as one file that needs nothing of ours."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).parent
PARTS = ("ed25519", "reading", "parts", "verify")  # of verify.py; each uses those before it
OURS = re.compile(r"^from approvals\.trail\.bundles\.\w+ import (?:\([^)]*\)|.*)\n", re.MULTILINE)
THEIRS = re.compile(r"^(?:from|import) .*\n", re.MULTILINE)
FUTURE, QUOTES = "from __future__ import annotations\n", '"""'


def files() -> Iterator[tuple[str, list[bytes]]]:
    yield "README.txt", [(HERE / "README.txt").read_bytes()]
    yield "verify.py", [in_one_file().encode()]
    yield "verify.mjs", [(HERE / "verify.mjs").read_bytes()]


def in_one_file() -> str:
    """The parts after each other, under the docstring of the last and the imports of all."""
    sources = [OURS.sub("", (HERE / f"{part}.py").read_text("utf-8")) for part in PARTS]
    abouts, bodies = zip(*(source.split(FUTURE, 1) for source in sources), strict=True)
    imports = sorted({line for body in bodies for line in THEIRS.findall(body)}, key=lambda one: (one[0] == "f", one))
    titles = [f"# {about.strip().splitlines()[0][3:].removesuffix(QUOTES)}\n\n" for about in abouts[:-1]]
    bare = (title + THEIRS.sub("", body).strip() for title, body in zip([*titles, ""], bodies, strict=True))
    told = "\n\n\n".join(bare)
    return f"{abouts[-1]}{FUTURE}\n{''.join(imports)}\n{told}\n"
