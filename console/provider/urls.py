"""Which addresses belong to the sign-in through a provider?"""

from django.urls import path

from console.provider.views import begin, callback

urlpatterns = [
    path("begin", begin, name="oidc-begin"),
    path("callback", callback, name="oidc-callback"),
]
