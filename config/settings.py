"""One settings file: SQLite and an in-memory channel layer by default, PostgreSQL and Redis by one variable each.

Every variable is described in `docs/settings.md`; the readers in `config.environment` name the one that is wrong.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from csp.constants import NONE, SELF
from django.core.exceptions import ImproperlyConfigured

from agentbridge.net import allowlist
from approvals.foreign import masking
from config import environment
from config.logging import configure_structlog, logging_config

BASE_DIR = Path(__file__).resolve().parent.parent

DEBUG = environment.flag("DEBUG")

# Keys: the newest signs and encrypts, older ones still verify and decrypt.
_secret_keys = [key.hex() for key in environment.keys("SECRET_KEY", debug=DEBUG)]
SECRET_KEY, SECRET_KEY_FALLBACKS = _secret_keys[0], _secret_keys[1:]
FIELD_KEYS = environment.keys("FIELD_KEY", debug=DEBUG)
SIGNING_KEYS = environment.keys("SIGNING_KEY", debug=DEBUG)

# Where people find us.
_public_url = environment.public_url("PUBLIC_URL", "http://localhost:8000")
PUBLIC_URL = _public_url.geturl().rstrip("/")
HTTPS = _public_url.scheme == "https"
ALLOWED_HOSTS = [host.strip() for host in environment.text("ALLOWED_HOSTS").split(",") if host.strip()] or [
    str(_public_url.hostname),
    "localhost",
    "127.0.0.1",
    "[::1]",
]
ROOT_URLCONF = "config.urls"
ASGI_APPLICATION = "config.asgi.application"

INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "channels",
    "csp",
    "django_htmx",
    "lucide",
    "ninja",  # its API page then loads its script from here, not from a CDN
    "approvals",
    "agentbridge",
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "config.middleware.harden",
    "csp.middleware.CSPMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "config.middleware.log_requests",
    "config.middleware.refuse_other_sites",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "approvals.acting.remember_sign_in",
    "approvals.trail.accesses.remember_refusals",
    "approvals.desk.zones.in_their_zone",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "approvals.views.returning.lead_back",
    "django_htmx.middleware.HtmxMiddleware",
    "config.unstorable.RefuseUnstorable",
]

TEMPLATES: list[dict[str, Any]] = [
    {
        "BACKEND": "config.templates.Templates",
        "NAME": "django",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.template.context_processors.i18n",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "approvals.desk.shell.shell",
                "agentbridge.shell.shell",
            ],
        },
    },
]

# Storage.
DATABASES = {"default": environment.database("DATABASE_URL", "sqlite:///var/countersign.sqlite3", base=BASE_DIR)}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
REDIS_URL = environment.redis_url("REDIS_URL")
CHANNEL_LAYERS: dict[str, dict[str, Any]] = {
    "default": {"BACKEND": "channels_redis.pubsub.RedisPubSubChannelLayer", "CONFIG": {"hosts": [REDIS_URL]}}
    if REDIS_URL
    else {"BACKEND": "channels.layers.InMemoryChannelLayer"}
}
CACHES: dict[str, dict[str, Any]] = {
    "default": {"BACKEND": "config.cache.PatientCache", "LOCATION": REDIS_URL}
    if REDIS_URL
    else {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}
}

# People.
AUTH_USER_MODEL = "approvals.User"
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 12}},
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
LOGIN_URL = "/accounts/login/"
LOGIN_REDIRECT_URL = "/queue/"
LOGOUT_REDIRECT_URL = LOGIN_URL
SESSION_COOKIE_AGE = 12 * 60 * 60  # one working day
PASSWORD_RESET_TIMEOUT = 24 * 60 * 60  # a link by which somebody chooses a password
_cookie_prefix = "__Host-" if HTTPS else ""  # browsers refuse the prefix without Secure
SESSION_COOKIE_NAME, CSRF_COOKIE_NAME = f"{_cookie_prefix}session", f"{_cookie_prefix}csrf"
LANGUAGE_COOKIE_NAME = f"{_cookie_prefix}language"
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = LANGUAGE_COOKIE_SECURE = HTTPS
SESSION_COOKIE_HTTPONLY = CSRF_COOKIE_HTTPONLY = LANGUAGE_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = CSRF_COOKIE_SAMESITE = LANGUAGE_COOKIE_SAMESITE = "Lax"
CSRF_FAILURE_VIEW = "approvals.views.returning.other_session"
CSRF_TRUSTED_ORIGINS = [PUBLIC_URL]  # behind a proxy that ends TLS the request itself looks like http

# What browsers may do with our pages (`config.middleware.harden` adds the rest).
HSTS_SECONDS = 365 * 24 * 60 * 60
# `harden` promises HTTPS on every answer; sending plain HTTP elsewhere is for the proxy that ends TLS before us.
SILENCED_SYSTEM_CHECKS = ["security.W004", "security.W008"]
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [NONE],
        "script-src": [SELF],
        "style-src": [SELF],
        "img-src": [SELF],
        "font-src": [SELF],
        # 'self' covers ws: to the same origin in today's browsers, but not in older ones, so it is named.
        "connect-src": [SELF, PUBLIC_URL.replace("http", "ws", 1)],
        "form-action": [SELF],
        "base-uri": [NONE],
        "frame-ancestors": [NONE],
    },
}

# Languages and times. Times are shown in UTC unless a page says otherwise.
LANGUAGE_CODE = "en"
LANGUAGES = [("en", "English"), ("ko", "한국어")]
LOCALE_PATHS = [BASE_DIR / "locale"]
USE_I18N = USE_TZ = True
TIME_ZONE = "UTC"

# Static files: hashed names and compressed copies, made by `collectstatic`.
STATIC_URL = "/static/"
STATIC_ROOT = BASE_DIR / "staticfiles"
STATICFILES_DIRS = [BASE_DIR / "static"]
WHITENOISE_ALLOW_ALL_ORIGINS = False
WHITENOISE_USE_FINDERS = WHITENOISE_AUTOREFRESH = DEBUG
_static_storage = "django.contrib.staticfiles.storage.StaticFilesStorage"
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {
        "BACKEND": _static_storage if DEBUG else "whitenoise.storage.CompressedManifestStaticFilesStorage"
    },
}

# Logs.
configure_structlog()
LOGGING = logging_config(debug=DEBUG)

# Where agents may be.
try:
    EGRESS_ALLOW = allowlist.parse(environment.text("EGRESS_ALLOW"))
except allowlist.BadEntry as problem:
    raise ImproperlyConfigured(f"EGRESS_ALLOW: {problem}.") from None

# Promises about time (`docs/settings.md`).
UNDO_SECONDS = environment.seconds("UNDO_SECONDS", 10, least=0)
EXPIRY_MARGIN_SECONDS = environment.seconds("EXPIRY_MARGIN_SECONDS", 5, least=0)
ANCHORS = environment.anchors("ANCHORS")
CHECKPOINT_SECONDS = environment.seconds("CHECKPOINT_SECONDS", 60)
CHECKPOINT_ENTRIES = environment.whole("CHECKPOINT_ENTRIES", 1000)
KEY_LEAD_SECONDS = environment.seconds("KEY_LEAD_SECONDS", 86_400, least=0, most=30 * 86_400)
LEASE_SECONDS = environment.seconds("LEASE_SECONDS", 30)
BACKOFF_SECONDS = environment.seconds("BACKOFF_SECONDS", 2)
CONNECT_SECONDS = environment.seconds("CONNECT_SECONDS", 10)
FIRST_EVENT_SECONDS = environment.seconds("FIRST_EVENT_SECONDS", 60)
IDLE_SECONDS = environment.seconds("IDLE_SECONDS", 120)  # per chunk; comments count as life
RUN_SECONDS = environment.seconds("RUN_SECONDS", 30 * 60)

# Limits on what strangers send.
FRAME_LIMIT = environment.whole("FRAME_LIMIT", 10 * 2**20)
STREAM_LIMIT = environment.whole("STREAM_LIMIT", 64 * 2**20)
UNREAD_LIMIT = environment.whole("UNREAD_LIMIT", 16 * 2**20)  # more than a FRAME_LIMIT: frames come at once
BODY_LIMIT = environment.whole("BODY_LIMIT", 2**20)  # `config.limits`: STREAM_LIMIT where agents' hosts push
DATA_UPLOAD_MAX_MEMORY_SIZE = BODY_LIMIT
DATA_UPLOAD_MAX_NUMBER_FIELDS = 2_000  # a form from a large schema
SCHEMA_BYTES = environment.whole("SCHEMA_BYTES", 64 * 2**10)
SCHEMA_DEPTH = environment.whole("SCHEMA_DEPTH", 32, most=100)
PATTERN_MS = environment.whole("PATTERN_MS", 100, most=10_000)
AGENT_PARALLEL = environment.whole("AGENT_PARALLEL", 8)
WORKER_STREAMS = environment.whole("WORKER_STREAMS", 200)
HOST_WAITS = environment.whole("HOST_WAITS", 8)
HOST_WAITS_IN_ALL = environment.whole("HOST_WAITS_IN_ALL", 100)
MASK_NAMES = environment.names("MASK_NAMES", masking.NAMES)
MASK_VALUES = environment.patterns("MASK_VALUES", masking.VALUES)
THREAD_ROUNDS = environment.whole("THREAD_ROUNDS", 100)  # K-7: a chain of questions can be endless
