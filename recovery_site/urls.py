"""Which address leads where?"""

from django.contrib import admin
from django.urls import URLPattern, URLResolver, include, path

from recovery_site.health import healthz, readyz
from recovery_site.metrics import metrics

urlpatterns: list[URLPattern | URLResolver] = [
    path("healthz", healthz),
    path("readyz", readyz),
    path("metrics", metrics),
    path("admin/", admin.site.urls),
    path("", include("advisor_api.urls")),
    path("", include("console.urls")),
]
