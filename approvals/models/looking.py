"""How people look at the queue: the views they keep, and what they set aside until a time. Nothing here decides."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from approvals.fields import OpaqueTextField
from approvals.models.cases import Task
from approvals.models.people import Role, User


class SavedView(models.Model):
    """Filters of the queue under a name. Whoever opens it sees what their own rights show."""

    owner = models.ForeignKey(User, on_delete=models.CASCADE, related_name="views")
    name = models.CharField(max_length=60)
    query = models.CharField(max_length=2000, blank=True)  # as in the address, in the order of `waiting.Filters.query`
    shared = models.BooleanField(default=False)
    first_for = models.CharField(max_length=10, choices=Role.choices, blank=True, default="")  # what a role opens with
    made_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["owner", "name"], name="one_view_of_a_name"),
            models.UniqueConstraint(fields=["first_for"], condition=~Q(first_for=""), name="one_first_view_of_a_role"),
            models.CheckConstraint(name="first_view_is_shared", condition=Q(first_for="") | Q(shared=True)),
        ]

    def __str__(self) -> str:
        return self.name


class FirstView(models.Model):
    """The view a person opens the queue with, before that of their role."""

    user = models.OneToOneField(User, on_delete=models.CASCADE, related_name="first_view")
    view = models.ForeignKey(SavedView, on_delete=models.CASCADE, related_name="+")

    def __str__(self) -> str:
        return f"{self.user} begins with {self.view}"


class SetAside(models.Model):
    """“Not now”: one person does not want to see a task until a time. Others see it as before."""

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="set_asides")
    task = models.ForeignKey(Task, on_delete=models.CASCADE, related_name="set_asides")
    until = models.DateTimeField()  # never past the task's deadline; afterwards it is back on top
    note = OpaqueTextField(default="")
    at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["user", "task"], name="set_aside_once")]

    def __str__(self) -> str:
        return f"{self.task} until {self.until:%H:%M}"
