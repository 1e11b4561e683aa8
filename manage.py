#!/usr/bin/env python
"""Runs every command of Countersign; `manage.py help` lists them."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured
from django.core.management import execute_from_command_line

from demo import environment


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    if sys.argv[1:2] == ["demo"]:
        environment.prepare(sys.argv[2:], Path(__file__).resolve().parent)
    try:
        execute_from_command_line(sys.argv)
    except ImproperlyConfigured as problem:
        # A wrong setting is the operator's to mend: one sentence that names it, no traceback.
        sys.exit(f"Cannot start: {problem}")


if __name__ == "__main__":
    main()
