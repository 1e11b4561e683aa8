"""Choosing a password by a link that an administrator gave: for whoever has it, once, within a day."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.contrib.auth.forms import SetPasswordForm
from django.contrib.auth.views import INTERNAL_RESET_SESSION_TOKEN, PasswordResetConfirmView
from django.http import HttpResponse, HttpResponseRedirect
from django.urls import reverse_lazy
from django.utils.timezone import now as current
from django.utils.translation import gettext as _

from approvals.models import User
from approvals.refusals import WrongState
from approvals.verbs import passwords


class NewPassword(PasswordResetConfirmView):
    """Django's, which moves the secret half out of the address before anything is shown."""

    template_name = "registration/new_password.html"
    token_generator = passwords.links
    success_url = reverse_lazy("login")

    def get_user(self, uidb64: str) -> User | None:
        person = super().get_user(uidb64)
        return person if isinstance(person, User) and passwords.may_choose(person) else None

    def form_valid(self, form: SetPasswordForm[User]) -> HttpResponse:
        link = self.request.session.pop(INTERNAL_RESET_SESSION_TOKEN)
        try:
            passwords.choose(form.user, form.cleaned_data["new_password1"], link=link, now=current())
        except WrongState:
            self.validlink = False
            return self.render_to_response(self.get_context_data(form=None, title="", validlink=False))
        messages.success(self.request, _("Your password is set."))
        return HttpResponseRedirect(str(self.success_url), status=303)

    def render_to_response(self, context: dict[str, Any], **response: Any) -> HttpResponse:
        status = 404 if not self.validlink else 422 if context["form"].errors else 200
        return super().render_to_response(context, **{**response, "status": status})
