"""What does the console itself remember?"""

from django.conf import settings
from django.db import models


class SignInLink(models.Model):
    """A one-time sign-in of the console: works once, until it expires."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE)
    digest = models.CharField(max_length=64, unique=True)
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return f"sign-in of {self.user}"
