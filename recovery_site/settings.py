"""How is Django configured? From `recovery_site.environment` alone."""

from pathlib import Path
from typing import Any

import environ
from csp.constants import NONCE, NONE, SELF
from django.core.exceptions import ImproperlyConfigured

from recovery_site.environment import BASE_DIR, read_environment
from recovery_site.languages import languages
from recovery_site.state_folder import close_to_others, kept_key, make_folder

REKINDLE, REKINDLE_MISTAKES = read_environment()


def _state_dir() -> Path:
    path = Path(REKINDLE["REKINDLE_STATE_DIR"])
    try:
        make_folder(path)
        (path / "static").mkdir(exist_ok=True)  # whitenoise warns of a missing folder
    except OSError as error:
        raise ImproperlyConfigured(f"REKINDLE_STATE_DIR cannot be used: {error}") from error
    return path


STATE_DIR = _state_dir()


def _secret_key() -> str:
    """The configured key, or one generated once in the state folder and readable by its owner only."""
    if REKINDLE["REKINDLE_SECRET_KEY"]:
        return str(REKINDLE["REKINDLE_SECRET_KEY"])
    try:
        return kept_key(STATE_DIR / "secret-key")
    except OSError as error:
        raise ImproperlyConfigured(f"REKINDLE_STATE_DIR cannot hold the generated key: {error}") from error


def _database() -> dict[str, Any]:
    url = REKINDLE["REKINDLE_DATABASE_URL"]
    if not url:
        url = f"sqlite:///{STATE_DIR / 'rekindle.sqlite3'}"
    database: dict[str, Any] = environ.Env.db_url_config(url)
    if database["ENGINE"].endswith("sqlite3"):
        if database["NAME"] != ":memory:":
            _keep_private(Path(database["NAME"]))
        # Measured: WAL alone makes locking worse; with IMMEDIATE transactions four writers saw no error.
        database["OPTIONS"] = {
            "timeout": 20,
            "transaction_mode": "IMMEDIATE",
            "init_command": "PRAGMA journal_mode=WAL;PRAGMA synchronous=NORMAL;PRAGMA busy_timeout=20000;",
        }
    else:
        database["OPTIONS"] = {
            "charset": "utf8mb4",
            "isolation_level": "read committed",
            "sql_mode": "STRICT_TRANS_TABLES",
        }
        database["CONN_MAX_AGE"] = 60
        database["CONN_HEALTH_CHECKS"] = True
        database["TEST"] = {"CHARSET": "utf8mb4", "COLLATION": "utf8mb4_bin"}
    return database


def _keep_private(file: Path) -> None:
    try:
        close_to_others(file)
    except OSError as error:
        raise ImproperlyConfigured(f"The database {file} cannot be used: {error.strerror}") from error


def _channel_layer() -> dict[str, Any]:
    url = REKINDLE["REKINDLE_CHANNEL_URL"]
    if url.startswith("memory"):
        return {"BACKEND": "channels.layers.InMemoryChannelLayer"}
    return {"BACKEND": "channels_redis.pubsub.RedisPubSubChannelLayer", "CONFIG": {"hosts": [url]}}


SECRET_KEY = _secret_key()
DEBUG = False
ALLOWED_HOSTS = REKINDLE["REKINDLE_ALLOWED_HOSTS"]

INSTALLED_APPS = [
    "recovery_site.apps.RekindleAdminConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "channels",
    "csp",
    "django_htmx",
    "rest_framework",
    "drf_spectacular",
    "recovery_site.apps.RecoverySiteConfig",
    "audit.apps.AuditConfig",
    "workloads.apps.WorkloadsConfig",
    "detectors.apps.DetectorsConfig",
    "advisor_api.apps.AdvisorApiConfig",
    "console.apps.ConsoleConfig",
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "recovery_site.static_files.StaticFiles",
    "csp.middleware.CSPMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "recovery_site.any_host.SiteHost",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "recovery_site.seeing.Seeing",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
]

ROOT_URLCONF = "recovery_site.urls"
WSGI_APPLICATION = "recovery_site.wsgi.application"
ASGI_APPLICATION = "recovery_site.asgi.application"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ]
        },
    }
]

DATABASES = {"default": _database()}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
CHANNEL_LAYERS = {"default": _channel_layer()}

AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in (
        "UserAttributeSimilarityValidator",
        "MinimumLengthValidator",
        "CommonPasswordValidator",
        "NumericPasswordValidator",
    )
]
AUTHENTICATION_BACKENDS = ["django.contrib.auth.backends.ModelBackend"]
if REKINDLE["REKINDLE_OIDC_ISSUER"]:
    AUTHENTICATION_BACKENDS += ["console.provider.authentication.ByProvider"]
LOGIN_URL = "sign-in"
LOGIN_REDIRECT_URL = "overview"
LOGOUT_REDIRECT_URL = "sign-in"

LANGUAGE_CODE = "en"
TIME_ZONE = "UTC"
LANGUAGES = languages(BASE_DIR / "locale")
LOCALE_PATHS = [BASE_DIR / "locale"]
USE_I18N = True
USE_TZ = True
FORMAT_MODULE_PATH = "recovery_site.formats"

STATIC_URL = "static/"
STATIC_ROOT = STATE_DIR / "static"
STATICFILES_DIRS = [BASE_DIR / "static"]
WHITENOISE_USE_FINDERS = True
WHITENOISE_AUTOREFRESH = False

SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
SESSION_COOKIE_SECURE = REKINDLE["REKINDLE_HTTPS"]
CSRF_COOKIE_SECURE = REKINDLE["REKINDLE_HTTPS"]
CSRF_TRUSTED_ORIGINS = [REKINDLE["REKINDLE_BASE_URL"]] if REKINDLE["REKINDLE_HTTPS"] else []
SECURE_SSL_REDIRECT = REKINDLE["REKINDLE_HTTPS"]
SECURE_REDIRECT_EXEMPT = [r"^healthz$", r"^readyz$", r"^metrics$"]
SECURE_HSTS_SECONDS = 31536000 if REKINDLE["REKINDLE_HTTPS"] else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = REKINDLE["REKINDLE_HTTPS"]
SECURE_HSTS_PRELOAD = REKINDLE["REKINDLE_HTTPS"]
if REKINDLE["REKINDLE_TRUSTED_PROXY"]:
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
DATA_UPLOAD_MAX_MEMORY_SIZE = 4 * 1024 * 1024

_MAIL = environ.Env.email_url_config(REKINDLE["REKINDLE_MAIL_URL"] or "smtp://localhost:25")
EMAIL_BACKEND = "advisor_api.notifying.mail_backend.TimedBackend"
EMAIL_HOST, EMAIL_PORT = _MAIL["EMAIL_HOST"], _MAIL["EMAIL_PORT"] or 25
EMAIL_HOST_USER, EMAIL_HOST_PASSWORD = _MAIL["EMAIL_HOST_USER"] or "", _MAIL["EMAIL_HOST_PASSWORD"] or ""
EMAIL_USE_TLS, EMAIL_USE_SSL = _MAIL.get("EMAIL_USE_TLS", False), _MAIL.get("EMAIL_USE_SSL", False)

AUDIT_KEY_FILE = Path(REKINDLE["REKINDLE_AUDIT_KEY_FILE"] or STATE_DIR / "audit-key")

CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [NONE],
        "script-src": [SELF, NONCE],
        "style-src": [SELF, NONCE],
        "img-src": [SELF, "data:"],
        "font-src": [SELF],
        "connect-src": [SELF],
        "form-action": [SELF],
        "base-uri": [NONE],
        "frame-ancestors": [NONE],
    }
}

REST_FRAMEWORK = {
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "advisor_api.authentication.BearerAuthentication",
        "rest_framework.authentication.SessionAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["advisor_api.authentication.HasRole"],
    "DEFAULT_THROTTLE_CLASSES": ["advisor_api.rates.CallerRate"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["rest_framework.parsers.JSONParser"],
    "EXCEPTION_HANDLER": "advisor_api.errors.as_answer",
    "UNAUTHENTICATED_USER": None,
    "URL_FORMAT_OVERRIDE": None,  # answers are JSON; `?format=` is no parameter of ours
}
SPECTACULAR_SETTINGS = {
    "TITLE": "Rekindle Advisor API",
    "DESCRIPTION": "What should happen next to each training attempt, and what became of it.",
    "VERSION": "1.0.0",
    "OAS_VERSION": "3.1.0",
    "SERVE_INCLUDE_SCHEMA": False,
    "SERVERS": [],
    "SCHEMA_PATH_PREFIX": "/v1",
    "COMPONENT_SPLIT_PATCH": False,  # a change of the mode needs all of its fields
    "POSTPROCESSING_HOOKS": [
        "drf_spectacular.hooks.postprocess_schema_enums",
        "advisor_api.wire.document.complete",
    ],
}

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"format": "%(asctime)s %(levelname)s %(name)s: %(message)s"}},
    "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "line"}},
    "root": {"handlers": ["console"], "level": REKINDLE["REKINDLE_LOG_LEVEL"]},
    # At INFO, Celery tells of every task: five lines a second that say nothing happened.
    "loggers": {"celery": {"level": "WARNING"}},
}
