"""The settings of the tests: those of the product with test keys, a database of their own and quick passwords."""

from tests.environment import database_for_tests  # isort: skip - it fills the environment that the settings read

from config.settings import *  # noqa: F403
from config.settings import DATABASES, STORAGES

DATABASES["default"] |= database_for_tests(DATABASES["default"])
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
STORAGES["staticfiles"]["BACKEND"] = "django.contrib.staticfiles.storage.StaticFilesStorage"
WHITENOISE_USE_FINDERS = WHITENOISE_AUTOREFRESH = True
