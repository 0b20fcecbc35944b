"""Which address leads where?"""

from django.contrib import admin
from django.urls import URLPattern, URLResolver, include, path

from console.views.sign_in import admin_sign_in
from recovery_site.health import healthz, readyz
from recovery_site.metrics import metrics

urlpatterns: list[URLPattern | URLResolver] = [
    path("healthz", healthz),
    path("readyz", readyz),
    path("metrics", metrics),
    path("admin/login/", admin_sign_in),  # the admin's own has no throttle and leaves no trail
    path("admin/", admin.site.urls),
    path("", include("advisor_api.urls")),
    path("sign-in/oidc/", include("console.provider.urls")),
    path("", include("console.urls")),
]

handler403 = "console.views.refused.forbidden"
handler404 = "console.views.refused.not_found"
handler500 = "console.views.refused.broken"
