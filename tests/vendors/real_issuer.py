"""An OpenID provider of others' making, on loopback: Django OAuth Toolkit, over Django and oauthlib.

It checks redirect URIs and PKCE, signs ID tokens by RS256, and asks people to sign in and to agree. It is served by a
process of its own: ``python -m tests.vendors.real_issuer PORT REDIRECT_URI``. Whoever signs in there posts ``user`` to
``/login``.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, make_server

import django
from django.conf import settings
from joserfc.jwk import RSAKey

CLIENT_ID, CLIENT_SECRET = "handraise", "the secret of the client"


def configure(folder: Path) -> None:
    settings.configure(
        ALLOWED_HOSTS=["127.0.0.1"],
        SECRET_KEY="of the tests alone",
        ROOT_URLCONF="tests.vendors.real_issuer_site",
        INSTALLED_APPS=[
            "django.contrib.auth",
            "django.contrib.contenttypes",
            "django.contrib.sessions",
            "oauth2_provider",
        ],
        MIDDLEWARE=[
            "django.contrib.sessions.middleware.SessionMiddleware",
            "django.contrib.auth.middleware.AuthenticationMiddleware",
        ],
        TEMPLATES=[{"BACKEND": "django.template.backends.django.DjangoTemplates", "APP_DIRS": True}],
        DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": str(folder / "issuer.db")}},
        DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
        LOGIN_URL="/login",
        USE_TZ=True,
        OAUTH2_PROVIDER={
            "OIDC_ENABLED": True,
            "OIDC_RSA_PRIVATE_KEY": RSAKey.generate_key(2048).as_pem(private=True).decode(),
            "OAUTH2_VALIDATOR_CLASS": "tests.vendors.real_issuer_site.Validator",
            "SCOPES": {"openid": "who you are", "email": "your e-mail address", "profile": "your name"},
            "PKCE_REQUIRED": True,
        },
    )
    django.setup()


def fill(redirect_uri: str) -> None:
    """Its people, and our registration."""
    from django.contrib.auth.models import User
    from django.core.management import call_command
    from oauth2_provider.models import Application

    call_command("migrate", verbosity=0)
    for name in ("alice", "mallory"):
        User.objects.create_user(name, f"{name}@example.com")
    Application.objects.create(
        name="Handraise",
        client_id=CLIENT_ID,
        client_secret=CLIENT_SECRET,
        client_type=Application.CLIENT_CONFIDENTIAL,
        authorization_grant_type=Application.GRANT_AUTHORIZATION_CODE,
        redirect_uris=redirect_uri,
        algorithm=Application.RS256_ALGORITHM,
    )


class _Quiet(WSGIRequestHandler):
    def log_message(self, format: str, *args: Any) -> None: ...  # noqa: A002 (the base class calls it so)


def main(port: int, redirect_uri: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        configure(Path(folder))
        fill(redirect_uri)
        from django.core.wsgi import get_wsgi_application

        server = make_server("127.0.0.1", port, get_wsgi_application(), handler_class=_Quiet)
        print("ready", flush=True)
        server.serve_forever()


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2])
