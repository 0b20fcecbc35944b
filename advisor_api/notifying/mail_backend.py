"""How is mail sent by Django's backend, and yet within a time limit for all of it?

Django's own limit is one for each answer of the mail server: a server that drips could hold a thread for hours.
Here the connection is cut once the whole time is over, as of any other request.
"""

import contextlib
import smtplib
import socket
import threading
from collections.abc import Sequence
from typing import Any

from django.core.mail import EmailMessage
from django.core.mail.backends.smtp import EmailBackend

AGAIN = 0.5  # seconds after which another connection of the same sending is cut, too


class TimedBackend(EmailBackend):
    """Django's SMTP backend; `timeout` holds for all messages of one call together."""

    def __init__(self, *args: Any, **named: Any) -> None:
        super().__init__(*args, **named)
        self._sessions: list[smtplib.SMTP] = []
        self._over = threading.Event()

    @property
    def connection_class(self) -> Any:
        """The protocol's own class, whose connection is known before its first byte came."""
        base: Any = smtplib.SMTP_SSL if self.use_ssl else smtplib.SMTP
        sessions, over = self._sessions, self._over

        class Known(base):  # type: ignore[misc]  # one of two classes
            def connect(self, *args: Any, **named: Any) -> Any:
                if over.is_set():
                    raise TimeoutError("the time for this mail is over")
                sessions.append(self)
                return super().connect(*args, **named)

        return Known

    def send_messages(self, email_messages: Sequence[EmailMessage]) -> int:
        """Send them. Raises `TimeoutError` when the time was over before the server had taken them."""
        if not self.timeout:
            return super().send_messages(email_messages) or 0
        done = threading.Event()
        cutter = threading.Thread(target=self._cut_later, args=(done,), name="mail time limit", daemon=True)
        cutter.start()
        try:
            return super().send_messages(email_messages) or 0
        except (OSError, smtplib.SMTPException):
            if self._over.is_set():
                raise TimeoutError(f"no end within {self.timeout:g} s") from None
            raise
        finally:
            done.set()

    def _cut_later(self, done: threading.Event) -> None:
        if done.wait(self.timeout):
            return
        self._over.set()
        while True:
            for session in self._sessions:
                if session.sock is not None:
                    with contextlib.suppress(OSError, AttributeError):
                        session.sock.shutdown(socket.SHUT_RDWR)
            if done.wait(AGAIN):
                return
