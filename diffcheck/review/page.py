"""The page: what the templates are given, and the texts that they make of it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import jinja2

from diffcheck.experiment.rows import ExperimentRow, experiment_rows
from diffcheck.review import numbers
from diffcheck.review.gather import HostReview, Review
from diffcheck.review.markdown import as_code, as_text, markdown_table
from diffcheck.review.plots.device import device_plot
from diffcheck.review.plots.hosts import hosts_plot
from diffcheck.review.plots.ratio import ratio_plot
from diffcheck.review.plots.times import bandwidth_plot, latency_plot
from diffcheck.review.rows import RowView, views
from diffcheck.review.tables import device, parity, provenance, times, verdict
from diffcheck.review.tables.base import TONES, Table, table
from diffcheck.review.tables.hosts import hosts
from diffcheck.version import tool_version


def html(review: Review) -> str:
    """Return the page as one HTML file: style and pictures are in it, and it asks for nothing else."""
    return _render("page.html.j2", review)


def markdown(review: Review) -> str:
    """Return the page as Markdown without pictures, for a pull request or a CI job's summary."""
    return _render("page.md.j2", review)


@dataclass(frozen=True)
class HostSection:
    """One host's part of a page. Pictures are drawn when a template asks for them."""

    review: Review
    one: HostReview
    place: int
    """1 for the first section."""

    @cached_property
    def rows(self) -> tuple[RowView, ...]:
        """The receipt's rows."""
        return views(self.one.receipt)

    @property
    def tables(self) -> dict[str, Table | None]:
        """Every table of the section, by what it shows."""
        receipt = self.one.receipt
        return {
            "ratios": times.ratios(self.rows, self.review.policy),
            "rates": times.rates(self.rows),
            "peers": times.peers(self.rows),
            "peer_versions": times.peer_versions(self.rows),
            "parity": parity.summary(self.rows),
            "worst": parity.worst_rows(self.rows),
            "checks": parity.rows_table(self.rows),
            "controls": device.controls(receipt) if receipt.controls else None,
            "readings": device.readings(receipt),
            "users": device.users(receipt),
            "kernels": device.kernels(receipt),
            "facts": provenance.facts(self.one),
            "subjects": provenance.subjects(self.one),
        }

    @property
    def ratio_plot(self) -> str | None:
        """Candidate over baseline."""
        return ratio_plot(self.rows, self.review.policy.speed, f"Candidate over baseline on {self.one.title}")

    @property
    def latency_plot(self) -> str | None:
        """Times beside floors and peers."""
        return latency_plot(self.rows, self._arms, f"Time of a call on {self.one.title}")

    @property
    def bandwidth_plot(self) -> str | None:
        """Rates beside the read floor's."""
        peak = self.one.receipt.host.peak_memory_bytes_per_second
        return bandwidth_plot(self.rows, self._arms, peak, f"Bandwidth on {self.one.title}")

    @property
    def device_plot(self) -> str | None:
        """Clocks, temperature and power."""
        return device_plot(self.one.receipt, f"Clocks, temperature and power of {self.one.title}")

    @property
    def _arms(self) -> tuple[str, str]:
        arms = self.one.receipt.experiment.content.arms
        return arms.baseline, arms.candidate


def _render(template: str, review: Review) -> str:
    decision = review.decision
    asked = experiment_rows(review.experiment)
    return _environment().get_template(template).render(
        review=review,
        decision=decision,
        experiment=review.experiment,
        policy=review.policy,
        meaning=verdict.MEANINGS[decision.verdict],
        groups=verdict.reason_groups(decision),
        remedies=verdict.remedies(decision),
        architectures=verdict.architectures(review) if decision.required_architectures else None,
        files=verdict.files(decision) if decision.receipts else None,
        asked=_asked(asked),
        asked_count=len(asked),
        hosts=hosts(review.receipts) if review.receipts else None,
        hosts_plot=hosts_plot(review.receipts, review.policy.speed, "The worst row of each length, by host"),
        sections=[HostSection(review, one, place) for place, one in enumerate(review.receipts, start=1)],
        version=tool_version(),
    )  # fmt: skip


def _environment() -> jinja2.Environment:
    made = jinja2.Environment(
        loader=jinja2.PackageLoader("diffcheck.review"),
        # What a receipt says is not trusted: in HTML every text is escaped, in Markdown `text` does it.
        autoescape=lambda name: name is not None and not name.endswith(".md.j2"),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    made.filters.update(plain=numbers.plain, text=as_text, code=as_code, table=markdown_table, tone=TONES.__getitem__)
    return made


def _asked(rows: tuple[ExperimentRow, ...]) -> Table:
    """Return what the experiment measures: one row for each family, with its lengths."""
    found: dict[tuple[str, str, str, str], list[int]] = {}
    for row in rows:
        case = row.baseline_case
        arms = f"{row.candidate} / {row.baseline}"
        key = (case.generator, f"{case.num_q_heads}/{case.num_kv_heads}", case.storage, arms)
        found.setdefault(key, []).append(case.kv_len)
    made = [(*key, ", ".join(numbers.length(kv_len) for kv_len in lengths)) for key, lengths in found.items()]
    return table(("inputs", "heads", "storage", "candidate / baseline", "keys"), made)
