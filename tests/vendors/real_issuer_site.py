"""The pages of the provider in ``real_issuer``: those of the toolkit, and a way to sign in there."""

from __future__ import annotations

from typing import Any

from django.contrib.auth import login
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.urls import include, path
from oauth2_provider.oauth2_validators import OAuth2Validator


class Validator(OAuth2Validator):  # type: ignore[misc]
    """Says of everybody which address they have, and that it is theirs."""

    oidc_claim_scope = None

    def get_additional_claims(self, request: Any) -> dict[str, object]:
        return {"email": request.user.email, "email_verified": True}


def sign_in(request: HttpRequest) -> HttpResponse:
    login(request, User.objects.get(username=request.POST["user"]), "django.contrib.auth.backends.ModelBackend")
    return HttpResponse("You are signed in.")


urlpatterns = [path("login", sign_in), path("", include("oauth2_provider.urls", namespace="oauth2_provider"))]
