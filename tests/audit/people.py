"""Who signs in to the admin in these tests? Nobody with a password: hashing one takes most of a test's time."""

from django.contrib.auth import get_user_model
from django.contrib.auth.models import Permission
from django.test import Client


def signed_in(name: str, *, superuser: bool = False, everything: bool = False) -> Client:
    """A browser of a member of staff, with no permission, every permission, or as superuser."""
    person = get_user_model()(username=name, is_staff=True, is_superuser=superuser)
    person.set_unusable_password()
    person.save()
    if everything:
        person.user_permissions.set(Permission.objects.all())
    client = Client()
    client.force_login(person)
    return client
