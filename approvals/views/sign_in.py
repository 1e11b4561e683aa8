"""Signing in: who came and who failed to is in the trail, and nobody guesses passwords quickly."""

from __future__ import annotations

import hashlib
from typing import Any

from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.views import LoginView
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.translation import gettext as _

from approvals import acting, audit
from approvals.models import User
from approvals.rates import Bucket
from approvals.views import me

GUESSES = Bucket("sign-in-as", size=10, per_second=0.1)  # failures of one address with one name
FAILURES = Bucket("sign-in", size=200, per_second=2)  # of one address, which may be a proxy with everybody behind it


class Credentials(AuthenticationForm):
    """Says what is wrong in the words that stand at the fields."""

    def get_invalid_login_error(self) -> ValidationError:
        return ValidationError(_("The name or the password is not right. Capital letters count."), code="invalid_login")


class TooMany(AuthenticationForm):
    """Says so without looking at the password."""

    def clean(self) -> dict[str, Any]:
        raise ValidationError(_("Too many attempts. Wait a minute."))


class SignIn(LoginView):
    authentication_form = Credentials
    redirect_authenticated_user = True

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        seconds = _failures(request, take=False)
        if not seconds:
            return super().post(request, *args, **kwargs)
        response = self.render_to_response(self.get_context_data(form=TooMany(request, data=request.POST)), status=429)
        response["Retry-After"] = str(seconds)
        return response

    def form_valid(self, form: AuthenticationForm) -> HttpResponse:
        response = super().form_valid(form)
        person = form.get_user()
        with acting.in_session(self.request):
            audit.record("login.ok", f"{person.display_name} signed in.", actor=person, now=timezone.now())
        return me.speaking(response, person.language) if person.language else response

    def form_invalid(self, form: AuthenticationForm) -> HttpResponse:
        _failures(self.request, take=True)
        # Only a name that we know is kept: a password typed into the wrong field is nobody's to read.
        name = form.data.get("username", "")
        person = User.objects.filter(username=name).first() if "\x00" not in name else None
        whom = f"as {person.display_name}" if person else "with an unknown name"
        data = {"user": person.pseudonym if person else None}
        audit.record("login.failed", f"Somebody failed to sign in {whom}.", data=data, now=timezone.now())
        return super().form_invalid(form)


def _failures(request: HttpRequest, *, take: bool) -> int:
    """0, or the seconds to wait after too many failures; `take` counts one more."""
    address, name = request.META.get("REMOTE_ADDR", ""), request.POST.get("username", "")
    now = timezone.now()
    who = hashlib.sha256(f"{address} {name}".encode("utf-8", "surrogatepass")).hexdigest()
    return max(GUESSES.wait(who, now=now, take=take), FAILURES.wait(address, now=now, take=take))
