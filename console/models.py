"""What does the console itself remember?"""

from django.conf import settings
from django.db import models

from audit.masked_fields import MaskedCharField


class SignInLink(models.Model):
    """A one-time sign-in of the console: works once, until it expires."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE)
    # stays English: for developers
    digest = models.CharField(max_length=64, unique=True, help_text="SHA-256 of the token.")
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return f"sign-in of {self.user}"  # stays English: for developers


class SignInTry(models.Model):
    """One password that was tried. Rows of successes are deleted at once, the others when they are old.

    Stored in the database and not in the process, because every server process must count the same tries.
    Name and address are keyed hashes: people type passwords into the wrong field.
    """

    name_hash = models.CharField(max_length=64)
    address_hash = models.CharField(max_length=64, db_index=True)
    at = models.DateTimeField(db_index=True)

    class Meta:
        indexes = (models.Index(fields=("name_hash", "address_hash", "at"), name="try_by_name_and_address"),)
        verbose_name_plural = "sign-in tries"  # stays English: for developers

    def __str__(self) -> str:
        return f"a try at {self.at:%Y-%m-%d %H:%M:%S}"  # stays English: for developers


class ProviderIdentity(models.Model):
    """Whom of an OpenID provider's people an account belongs to."""

    user = models.OneToOneField(settings.AUTH_USER_MODEL, on_delete=models.CASCADE)
    # stays English: for developers
    digest = models.CharField(max_length=64, unique=True, help_text="SHA-256 of issuer and subject.")

    class Meta:
        verbose_name_plural = "provider identities"  # stays English: for developers

    def __str__(self) -> str:
        return f"{self.user} at the provider"  # stays English: for developers


class SavedView(models.Model):
    """A name for the filters of the list of jobs. `query` is as our own pages write it, with its `?`."""

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="views")
    name = models.CharField(max_length=80)
    query = MaskedCharField(max_length=1500)
    # stays English: for developers
    shared = models.BooleanField(default=False, db_index=True, help_text="Seen by everybody.")
    # stays English: for developers
    is_default = models.BooleanField(default=False, help_text="Its owner's list of jobs opens with it.")
    revision = models.PositiveIntegerField(default=1)
    created_at = models.DateTimeField()

    class Meta:
        permissions = (("share_view", "Can share views of the list of jobs"),)  # stays English: stored
        constraints = (models.UniqueConstraint(fields=("owner", "name"), name="view_name_once"),)

    def __str__(self) -> str:
        return self.name
