"""How does the database itself refuse to change the trail?

Triggers on SQLite, MariaDB and MySQL refuse UPDATE and DELETE on events, seals, checkpoints and the stones of
archives, whoever asks. DELETE has one exception: what lies under a stone (`AuditArchive`), which only an account
with the right to do so can put there. One more trigger tells the sealer of new events. Whoever may drop them can
still do all of it: the chain of seals, and checkpoints and stones signed outside of the database, show it then.
"""

from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper

EVENTS, UNSEALED = "audit_auditevent", "audit_auditunsealed"
SEALS, CHECKPOINTS, STONES = "audit_auditseal", "audit_auditcheckpoint", "audit_auditarchive"
KEPT = (EVENTS, SEALS, CHECKPOINTS, STONES)
SENTENCE = "the audit trail is append-only"
_COVERS = (  # names of ours
    "stone.cluster = {0}.cluster AND stone.last_seq >= {0}.seq AND stone.first_seq = (SELECT MAX(one.first_seq) "
    "FROM audit_auditarchive AS one WHERE one.cluster = {0}.cluster AND one.first_seq <= {0}.seq)"
)
UNDER_A_STONE = {
    # Events go first: their seals tell where they stand.
    EVENTS: f"SELECT 1 FROM {SEALS} AS seal JOIN {STONES} AS stone ON {_COVERS.format('seal')} "  # noqa: S608
    "WHERE seal.event = OLD.id AND seal.cluster = OLD.cluster",
    SEALS: f"SELECT 1 FROM {STONES} AS stone WHERE {_COVERS.format('OLD')}",  # noqa: S608
    CHECKPOINTS: f"SELECT 1 FROM {STONES} AS stone WHERE {_COVERS.format('OLD')} "  # noqa: S608
    "AND OLD.seq < stone.last_seq",
}
"""What must be found for a row that may go. The checkpoint at the end of a stone stays: it is its witness."""


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
    excused = UNDER_A_STONE.get(table, "") if verb == "DELETE" else ""
    head = f"CREATE TRIGGER {_name(table, verb)} BEFORE {verb} ON {table} FOR EACH ROW"
    if connection.vendor == "sqlite":
        unless = f" WHEN NOT EXISTS ({excused})" if excused else ""
        return f"{head}{unless} BEGIN SELECT RAISE(ABORT, '{SENTENCE}'); END"
    refuse = f"SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = '{SENTENCE}'"
    return f"{head} IF NOT EXISTS ({excused}) THEN {refuse}; END IF" if excused else f"{head} {refuse}"


def _name(table: str, verb: str) -> str:
    return f"{table}_no_{verb.lower()}"


def _run(connection: BaseDatabaseWrapper, statements: list[str]) -> None:
    with connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)
