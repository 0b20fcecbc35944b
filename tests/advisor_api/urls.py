"""The addresses that these tests need."""

from django.contrib import admin
from django.urls import include, path

urlpatterns = [path("admin/", admin.site.urls), path("", include("advisor_api.urls"))]
