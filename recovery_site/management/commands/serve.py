"""`manage.py serve`: web server, worker and beat in one process."""

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from recovery_site.embedded import EmbeddedSite, listening_socket


class Command(BaseCommand):
    """Runs the embedded site until Ctrl-C."""

    help = "Run web server, worker and beat in one process (the embedded mode)."
    requires_migrations_checks = True

    def handle(self, *_args: Any, **_options: Any) -> None:
        """Serve on REKINDLE_LISTEN."""
        if not settings.REKINDLE["REKINDLE_BROKER_URL"].startswith("memory"):
            raise CommandError(
                "`serve` is the embedded mode: with a broker, start the processes of docs/production.md."
            )
        try:
            listen = listening_socket(settings.REKINDLE["REKINDLE_LISTEN"])
        except OSError as error:
            raise CommandError(
                f"{settings.REKINDLE['REKINDLE_LISTEN']} cannot be used: {error.strerror}."
            ) from error
        host, port = listen.getsockname()[:2]

        def when_up() -> None:
            self.stdout.write(f"Rekindle serves http://{host}:{port}/")
            self.stdout.flush()  # into a file it would stay unsaid until the end

        status = EmbeddedSite(listen, when_up).run()
        if status:
            raise CommandError("The worker or the beat died; see the log above.", returncode=status)
