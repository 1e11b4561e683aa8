"""HTTP and WebSockets for Daphne: bodies are counted, sockets carry the session of their page."""

from __future__ import annotations

import os

from channels.auth import AuthMiddlewareStack
from channels.routing import ProtocolTypeRouter, URLRouter
from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
http = get_asgi_application()  # sets Django up: what follows may import models

from approvals.live import websocket_urlpatterns  # noqa: E402
from config.lane import Lane  # noqa: E402
from config.limits import BodyLimit  # noqa: E402

application = ProtocolTypeRouter(
    {
        "http": BodyLimit(Lane(http)),
        # `approvals.live` checks the exact origin and the login itself, on every message.
        "websocket": AuthMiddlewareStack(URLRouter(websocket_urlpatterns)),
    }
)
