"""How does an ASGI server find the site? Pages and sockets in the embedded mode, `/ws/` in production."""

import os
import warnings

from channels.auth import AuthMiddlewareStack
from channels.routing import ProtocolTypeRouter, URLRouter
from channels.security.websocket import AllowedHostsOriginValidator
from django.conf import settings
from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "recovery_site.settings")
# whitenoise serves files by a synchronous iterator; Django consumes it in a thread, which is what is wanted.
warnings.filterwarnings("ignore", message="StreamingHttpResponse must consume synchronous iterators")
pages = get_asgi_application()

from console.routing import websocket_urlpatterns  # noqa: E402  # models need the loaded apps
from recovery_site.body_limit import BodyLimit  # noqa: E402
from recovery_site.checks import refuse_mistakes  # noqa: E402
from recovery_site.settling import settle  # noqa: E402

refuse_mistakes()
application = ProtocolTypeRouter(
    {
        "http": BodyLimit(pages, settings.DATA_UPLOAD_MAX_MEMORY_SIZE),
        "websocket": AllowedHostsOriginValidator(AuthMiddlewareStack(URLRouter(list(websocket_urlpatterns)))),
    }
)
settle()
