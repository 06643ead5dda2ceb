"""Hosts that receipts may come from."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator
from typing_extensions import Self

from diffcheck.experiment.model import Slug
from diffcheck.receipts.fields import Model, Name, Target
from diffcheck.repeated import first_repeated


class Host(Model):
    """One host. Its id names what kind of machine it is, and the receipt's file."""

    id: Slug
    arch: Target
    title: Name


class Hosts(Model):
    """The list of hosts."""

    schema_name: Literal["diffcheck-hosts/1"] = Field(alias="schema")
    hosts: tuple[Host, ...]

    @model_validator(mode="after")
    def _ids_once(self) -> Self:
        name = first_repeated(host.id for host in self.hosts)
        if name is not None:
            raise ValueError(f"hosts: two have the id {name}")
        return self

    def find(self, host_id: str | None) -> Host | None:
        """Return the host of that id, or None."""
        return next((host for host in self.hosts if host.id == host_id), None)
