"""How does the database itself refuse to change the trail?

Triggers on SQLite, MariaDB and MySQL refuse UPDATE and DELETE on events, seals and checkpoints, whoever asks.
One more tells the sealer of each new event. Whoever may drop triggers can still do all of it: the chain of seals
and the checkpoints signed outside of the database are what shows it then.
"""

from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper

KEPT = ("audit_auditevent", "audit_auditseal", "audit_auditcheckpoint")
EVENTS, UNSEALED = "audit_auditevent", "audit_auditunsealed"
SENTENCE = "the audit trail is append-only"


def install(using: str = "default") -> None:
    """Make the triggers. On MariaDB and MySQL the account needs TRIGGER on the database."""
    connection = connections[using]
    restore(using)
    copy = f"INSERT INTO {UNSEALED} (event, cluster) VALUES (NEW.id, NEW.cluster)"  # noqa: S608  # names of ours
    body = f"BEGIN {copy}; END" if connection.vendor == "sqlite" else copy
    _run(connection, [f"CREATE TRIGGER {EVENTS}_unsealed AFTER INSERT ON {EVENTS} FOR EACH ROW {body}"])


def remove(using: str = "default") -> None:
    """Drop the refusals, e.g. to empty a test's database. The trigger that tells the sealer stays."""
    names = [_name(table, verb) for table in KEPT for verb in ("UPDATE", "DELETE")]
    _run(connections[using], [f"DROP TRIGGER IF EXISTS {name}" for name in names])


def restore(using: str = "default") -> None:
    """Make them again."""
    connection = connections[using]
    _run(connection, [_refusal(connection, table, verb) for table in KEPT for verb in ("UPDATE", "DELETE")])


def _refusal(connection: BaseDatabaseWrapper, table: str, verb: str) -> str:
    if connection.vendor == "sqlite":
        body = f"BEGIN SELECT RAISE(ABORT, '{SENTENCE}'); END"
    else:
        body = f"SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = '{SENTENCE}'"
    return f"CREATE TRIGGER {_name(table, verb)} BEFORE {verb} ON {table} FOR EACH ROW {body}"


def _name(table: str, verb: str) -> str:
    return f"{table}_no_{verb.lower()}"


def _run(connection: BaseDatabaseWrapper, statements: list[str]) -> None:
    with connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)
