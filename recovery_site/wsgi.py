"""How does a WSGI server find the site? (Production: pages, API and admin.)"""

import os

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "recovery_site.settings")
application = get_wsgi_application()

from recovery_site.checks import refuse_mistakes  # noqa: E402  # checks need the loaded apps
from recovery_site.settling import settle  # noqa: E402

refuse_mistakes()
settle()
