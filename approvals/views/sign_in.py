"""Signing in: who came and who failed to is in the trail, and nobody guesses passwords quickly."""

from __future__ import annotations

import time
from typing import Any

from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.views import LoginView
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.translation import gettext as _

from approvals import audit
from approvals.models import User
from approvals.rates import Bucket

ATTEMPTS = Bucket("sign-in", size=20, per_second=0.2)  # of one address; also bounds the entries of failed ones


class SignIn(LoginView):
    redirect_authenticated_user = True

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        seconds = ATTEMPTS.wait(request.META.get("REMOTE_ADDR", ""), seconds=time.monotonic())
        if not seconds:
            return super().post(request, *args, **kwargs)
        form = AuthenticationForm(request, initial={"username": request.POST.get("username", "")})
        context = self.get_context_data(form=form, wait=_("Too many attempts. Wait a minute."))
        response = self.render_to_response(context, status=429)
        response["Retry-After"] = str(seconds)
        return response

    def form_valid(self, form: AuthenticationForm) -> HttpResponse:
        response = super().form_valid(form)
        person = form.get_user()
        audit.record("login.ok", f"{person.display_name} signed in.", actor=person, now=timezone.now())
        return response

    def form_invalid(self, form: AuthenticationForm) -> HttpResponse:
        # Only a name that we know is kept: a password typed into the wrong field is nobody's to read.
        name = form.data.get("username", "")
        person = User.objects.filter(username=name).first() if "\x00" not in name else None
        whom = f"as {person.display_name}" if person else "with an unknown name"
        data = {"user": person.pseudonym if person else None}
        audit.record("login.failed", f"Somebody failed to sign in {whom}.", data=data, now=timezone.now())
        return super().form_invalid(form)
