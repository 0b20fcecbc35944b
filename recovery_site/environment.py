"""Which environment variables does the site read? Each is declared here once: name, default, help.

`docs/settings.md` is generated from these declarations and compared by a test; `recovery_site/checks.py`
refuses to start on a wrong one, with its number and a sentence.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from recovery_site.oidc_settings import OIDC_SETTINGS
from recovery_site.setting import (
    BadSetting,
    Setting,
    address,
    flag,
    listen,
    mail_address,
    names,
    one_of,
    seconds,
    whole,
)

BASE_DIR = Path(__file__).resolve().parent.parent


SETTINGS = (
    Setting("REKINDLE_STATE_DIR", str(BASE_DIR / "var"), "Folder for the SQLite file and the generated key."),
    Setting(
        "REKINDLE_DATABASE_URL",
        "",
        "Where everything is stored: sqlite:///PATH or mysql://USER:PASSWORD@HOST:PORT/NAME. "
        "Empty: rekindle.sqlite3 in the state folder.",
        lambda raw: raw and address("sqlite", "mysql")(raw),
        secret=True,
    ),
    Setting(
        "REKINDLE_BROKER_URL",
        "memory://",
        "Where tasks wait: memory:// (one process) or redis://HOST:PORT/N.",
        address("memory", "redis", "rediss", "redis+socket"),
        secret=True,
    ),
    Setting(
        "REKINDLE_CHANNEL_URL",
        "memory://",
        "What wakes the sockets of other processes: memory:// (one process) or redis://HOST:PORT/N.",
        address("memory", "redis", "rediss", "unix"),
        secret=True,
    ),
    Setting(
        "REKINDLE_SECRET_KEY",
        "",
        "Signs sessions; at least 50 characters. Empty: a key generated in the state folder.",
        secret=True,
    ),
    Setting("REKINDLE_ALLOWED_HOSTS", "localhost,127.0.0.1,[::1]", "Host names the site answers to.", names),
    Setting(
        "REKINDLE_BASE_URL",
        "http://127.0.0.1:8000",
        "Address under which people reach the console; used in links.",
        address("http", "https"),
    ),
    Setting(
        "REKINDLE_LISTEN",
        "127.0.0.1:8000",
        "HOST:PORT of the embedded web server; port 0 takes a free one.",
        listen,
    ),
    Setting("REKINDLE_HTTPS", "false", "Whether people reach the site by TLS: secure cookies and HSTS.", flag),
    Setting(
        "REKINDLE_TRUSTED_PROXY",
        "false",
        "Whether a proxy of yours sets X-Forwarded-Proto. Never true when the site is reached directly.",
        flag,
    ),
    Setting(
        "REKINDLE_METRICS_TOKEN",
        "",
        "Bearer token of /metrics. Empty: only from the machine itself.",
        secret=True,
    ),
    Setting("REKINDLE_SHARDS", "1", "Into how many tasks the reading of logs is split.", whole(1, 256)),
    Setting("REKINDLE_WORKER_THREADS", "2", "Threads of the embedded worker.", whole(1, 64)),
    Setting(
        "REKINDLE_READ_SECONDS",
        "1",
        "How often the logs of running attempts are read.",
        seconds(0.2, 60),
    ),
    Setting(
        "REKINDLE_LIVE_SECONDS",
        "0.25",
        "How often each ASGI process looks for what its sockets and the controllers that wait are told of.",
        seconds(0.05, 10),
    ),
    Setting(
        "REKINDLE_API_PER_MINUTE",
        "6000",
        "Most requests of one token or person to the API in a minute, counted in each server process.",
        whole(60, 1_000_000),
    ),
    Setting(
        "REKINDLE_AUDIT_KEY_FILE",
        "",
        "File with the key that signs the audit trail's checkpoints, readable by the site's user alone. Beside it, "
        "with the ending .old, lie those that signed before (manage.py audit_key). Empty: audit-key in the state "
        "folder, made when it is needed.",
    ),
    Setting(
        "REKINDLE_AUDIT_CHECKPOINT_FILE",
        "",
        "File to which each signed checkpoint is added as a JSON line; best on another machine. Empty: none.",
    ),
    Setting("REKINDLE_READ_BYTES", "4194304", "Most bytes read from one log in one turn.", whole(4096, 1 << 30)),
    Setting(
        "REKINDLE_CREDENTIALS_DIR",
        "",
        "Folder with one file for each credential of a log store, readable by the site's user alone. "
        "Empty: the folder credentials in the state folder.",
    ),
    Setting(
        "REKINDLE_HANDOFF_DIR",
        "",
        "Folder of the files that repair systems read: one line for each node that is handed over. "
        "Empty: the folder hand-off in the state folder.",
    ),
    Setting(
        "REKINDLE_STORE_SECONDS",
        "10",
        "Time limit of one query to a log store.",
        seconds(1, 60),
    ),
    Setting(
        "REKINDLE_COMMAND_SECONDS",
        "30",
        "Time limit of one scheduler command of the site.",
        seconds(1, 300),
    ),
    Setting(
        "REKINDLE_LOG_LEVEL",
        "INFO",
        "Detail of the site's own log.",
        one_of("DEBUG", "INFO", "WARNING", "ERROR"),
    ),
    Setting(
        "REKINDLE_METRICS_SECONDS",
        "15",
        "How often the metrics of a cluster are read: about as often as they are scraped.",
        seconds(0.5, 300),
    ),
    Setting(
        "REKINDLE_KEEP_DETAILS_DAYS",
        "90",
        "Days that log text, observations and memories of detectors are kept once an attempt is over and its log "
        "is read. Verdicts, anomalies, the progress series and the audit trail stay.",
        whole(1, 36500),
    ),
    Setting(
        "REKINDLE_KEEP_HEALTH_DAYS",
        "90",
        "Days that health events of nodes are kept once they are over. A fatal one that nobody cleared stays.",
        whole(1, 36500),
    ),
    Setting(
        "REKINDLE_NOTIFY_HOURS",
        "6",
        "Hours: what is older is not told any more after an outage, and a message that cannot be sent is given up.",
        whole(1, 168),
    ),
    Setting(
        "REKINDLE_MAIL_URL",
        "",
        "Mail server of notifications: smtp://, smtp+tls:// or smtp+ssl://USER:PASSWORD@HOST:PORT. Empty: no mail.",
        lambda raw: raw and address("smtp", "smtp+tls", "smtp+ssl")(raw),
        secret=True,
    ),
    Setting("REKINDLE_MAIL_FROM", "rekindle@localhost", "Whom notifications by mail are from.", mail_address),
    Setting(
        "REKINDLE_KEEP_AUDIT_DAYS",
        "365",
        "Days that the audit trail stays in the table at least: archive_audit writes what is older into files and "
        "removes it. Nothing goes as long as nobody runs that.",
        whole(30, 36500),
    ),
    *OIDC_SETTINGS,
)


@dataclass(frozen=True)
class Mistake:
    """A setting that cannot be used: its number is its place among the declarations, from 1."""

    number: int
    name: str
    sentence: str


def read_environment(environ: Mapping[str, str] | None = None) -> tuple[dict[str, Any], list[Mistake]]:
    """All values, and the mistakes found. A mistaken setting has its default in the values."""
    source = os.environ if environ is None else environ
    values: dict[str, Any] = {}
    mistakes = []
    for number, setting in enumerate(SETTINGS, 1):
        raw = source.get(setting.name, setting.default)
        try:
            values[setting.name] = setting.parse(raw)
        except BadSetting as error:
            found = "" if setting.secret else f", not {raw[:60]!r}"
            mistakes.append(Mistake(number, setting.name, f"{setting.name} {error}{found}."))
            values[setting.name] = setting.parse(setting.default)
    known = {setting.name for setting in SETTINGS}
    mistakes += [
        Mistake(0, name, f"{name} is not a setting of Rekindle; see docs/settings.md.")
        for name in sorted(source)
        if name.startswith("REKINDLE_") and name not in known
    ]
    return values, mistakes
