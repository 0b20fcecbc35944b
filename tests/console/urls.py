"""The console alone: its tests need no other room's addresses."""

from django.contrib import admin
from django.urls import include, path

urlpatterns = [path("admin/", admin.site.urls), path("", include("console.urls"))]
