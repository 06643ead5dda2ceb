"""The four shapes of file, each read into the one model. They share two schema names, so the content tells which."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from diffcheck.errors import BadInputError
from diffcheck.receipts.imported.fields import Json, Reader
from diffcheck.receipts.imported.model import ImportedRecord, ImportedRow, Lack

RECEIPT, KERNEL, RUNGS = "apr-kernel-receipt/v1", "apr-kernel/v1", "apr-3725-splitk-rungs/v1"
Read = tuple[tuple[ImportedRecord, ...], tuple[str, ...], list[str]]
"""Records, required hosts, keys that were not understood."""


def shape_of(content: Json) -> str:
    """Return which shape a file has. Raises `BadInputError` for one of no known shape."""
    schema = content.get("schema")
    if schema == KERNEL:
        return "requirement"
    if schema == RUNGS:
        return "rungs"
    if schema == RECEIPT and "rows" in content:
        return "rows"
    if schema == RECEIPT and "receipts" in content:
        return "variants"
    raise BadInputError("schema", schema, f"{RECEIPT} with rows or receipts, {KERNEL}, {RUNGS}")


def read_rows(top: Reader) -> Read:
    """Read `apr-kernel-receipt/v1` with `rows`: oxide against builder, one geometry."""
    geometry = _geometry(top.text("geometry"))
    rows: list[ImportedRow] = []
    unknown: list[str] = []
    for row in top.objects("rows"):
        rows.append(
            _row(
                row,
                heads=geometry,
                storage="kv",
                baseline="builder_us",
                candidate="oxide_us",
                ratio="oxide_over_builder",
                against="oxide_vs_builder_rel_max",
                rel="oxide_vs_f64_rel_max",
                cosine="oxide_vs_f64_cos",
            )
        )
        row.take("oxide_vs_twin_rel_max")
        unknown += row.leftovers()
    record = _record(
        top, rows, baseline="builder", candidate=top.text("authoring") or "oxide", arch="cc", cuda_oxide="cuda_oxide"
    )
    top.take("schema", "parity")
    return (record,), (), [*top.leftovers(), *unknown]


def read_rungs(top: Reader) -> Read:
    """Read `apr-3725-splitk-rungs/v1`: split-K against the old kernel."""
    rows: list[ImportedRow] = []
    unknown: list[str] = []
    for row in top.objects("rows"):
        heads = (row.whole("num_heads"), row.whole("num_kv_heads"), row.whole("head_dim"))
        rows.append(
            _row(
                row,
                heads=heads,
                storage="kv",
                baseline="old_us",
                candidate="splitk_us",
                ratio=None,
                against="splitk_vs_old_rel_max",
                rel="splitk_vs_f64_rel_max",
                cosine=None,
            )
        )
        row.take("speedup", "splitk_vs_old_cos", "old_vs_f64_rel_max")
        unknown += row.leftovers()
    record = _record(top, rows, baseline="old", candidate="splitk", arch="compute_capability", cuda_oxide=None)
    top.take("schema", "sms", "free_mib_at_start", "total_mib")
    return (record,), (), [*top.leftovers(), *unknown]


def read_variants(top: Reader) -> Read:
    """Read `apr-kernel-receipt/v1` with `receipts`: one record a variant, its worst shape as its one row."""
    records: list[ImportedRecord] = []
    unknown: list[str] = []
    kernel = top.text("kernel")
    for one in top.objects("receipts"):
        timing, parity = one.part("timing"), one.part("parity")
        row = ImportedRow(
            num_q_heads=None,
            num_kv_heads=None,
            head_dim=one.whole("head_dim"),
            kv_len=timing.whole("worst_seq"),
            storage=None,
            chunk=None,
            n_splits=None,
            baseline_us=timing.number("handptx_us", positive=True),
            candidate_us=timing.number("oxide_us", positive=True),
            ratio=timing.number("ratio", positive=True),
            candidate_vs_baseline_max_rel=None,
            candidate_vs_f64_max_rel=parity.number("rel_max"),
            candidate_vs_f64_cosine=parity.number("cos_min"),
            parity_passed=parity.flag("pass"),
        )
        record = _record(
            one,
            [row],
            baseline="handptx",
            candidate=one.text("authoring") or "oxide",
            arch="cc",
            cuda_oxide="cuda_oxide_rev",
            nested=True,
            method=timing.text("method"),
            kernel=kernel,
        )
        records.append(record)
        one.take("schema", "entry", "entries", "shapes", "seq_parity", "seq_timed", "register_budget")
        one.take("tree_dirty_paths", "ptxas_version", "driver", "foreign_gpu_procs", "phantom_gpu_ctx")
        unknown += one.leftovers()
    top.take("schema", "issue")
    return tuple(records), (), [*top.leftovers(), *unknown]


def read_requirement(top: Reader) -> Read:
    """Read `apr-kernel/v1`: which hosts must have a receipt."""
    hosts = top.words("required_hosts")
    top.take("schema", "kernel", "issue", "authoring", "source", "module", "entries", "reference", "shipped_ptx")
    return (), hosts, top.leftovers()


SHAPES: dict[str, Callable[[Reader], Read]] = {
    "rows": read_rows,
    "rungs": read_rungs,
    "variants": read_variants,
    "requirement": read_requirement,
}


def _row(
    row: Reader,
    *,
    heads: tuple[int | None, int | None, int | None],
    storage: str,
    baseline: str,
    candidate: str,
    ratio: str | None,
    against: str,
    rel: str,
    cosine: str | None,
) -> ImportedRow:
    old, new = row.number(baseline, positive=True), row.number(candidate, positive=True)
    stated = row.number(ratio, positive=True) if ratio else None
    return ImportedRow(
        num_q_heads=heads[0],
        num_kv_heads=heads[1],
        head_dim=heads[2],
        kv_len=row.whole("seq_len"),
        storage=row.storage(storage),
        chunk=row.whole("chunk"),
        n_splits=row.whole("n_splits"),
        baseline_us=old,
        candidate_us=new,
        ratio=stated if stated is not None else new / old if old and new else None,
        candidate_vs_baseline_max_rel=row.number(against),
        candidate_vs_f64_max_rel=row.number(rel),
        candidate_vs_f64_cosine=row.number(cosine) if cosine else None,
        parity_passed=row.passed("parity"),
    )


def _record(
    one: Reader,
    rows: Iterable[ImportedRow],
    *,
    baseline: str,
    candidate: str,
    arch: str,
    cuda_oxide: str | None,
    nested: bool = False,
    method: str | None = None,
    kernel: str | None = None,
) -> ImportedRecord:
    made = ImportedRecord(
        kernel=one.text("kernel") or kernel,
        variant=one.text("variant"),
        baseline=baseline,
        candidate=candidate,
        host=one.text("host"),
        arch=one.arch(arch),
        device=one.text("device"),
        commit=one.text("sha"),
        cuda_oxide_commit=one.text(cuda_oxide) if cuda_oxide else None,
        timing_method=method if nested else one.text("timing"),
        rows=tuple(rows),
        lacks=(),
    )
    return made.model_copy(update={"lacks": _lacks(made, one)})


# What a foreign file never has, whatever its shape.
_NEVER = (
    *(Lack.SAMPLES, Lack.INTERVALS, Lack.ORDER, Lack.CLOCKS, Lack.CONTROLS, Lack.FLOORS, Lack.BITS),
    *(Lack.PTX, Lack.SUBJECTS, Lack.COMMAND, Lack.DIGEST),
)


def _lacks(record: ImportedRecord, one: Reader) -> tuple[Lack, ...]:
    has = {
        Lack.TIMES: any(row.baseline_us and row.candidate_us for row in record.rows),
        Lack.ORACLE: any(row.candidate_vs_f64_max_rel is not None for row in record.rows),
        Lack.ROWS: len(record.rows) > 1 and all(row.parity_passed is not None for row in record.rows),
        Lack.PLANS: all(row.chunk and row.n_splits for row in record.rows),
        Lack.COMMIT: record.commit is not None,
        Lack.DIRTY: one.whole("tree_dirty_paths") is not None,
        Lack.HOST: record.host is not None,
        Lack.DEVICE: record.device is not None or one.text("driver") is not None,
        Lack.DRIVER: one.text("driver") is not None,
        Lack.PTXAS: one.text("ptxas_version") is not None,
        Lack.CUDA_OXIDE: record.cuda_oxide_commit is not None,
        # An empty text says that there were none; an absent one says nothing.
        Lack.USERS: one.states("foreign_gpu_procs"),
    }
    return tuple(lack for lack in Lack if lack in _NEVER or not has.get(lack, True))


def _geometry(text: str | None) -> tuple[int | None, int | None, int | None]:
    found = re.fullmatch(r"(\d{1,6})/(\d{1,6}), head_dim (\d{1,6})", text or "")
    if text and not found:
        raise BadInputError("geometry", text, "query heads/KV heads, head_dim D, such as 16/4, head_dim 256")
    return (int(found[1]), int(found[2]), int(found[3])) if found else (None, None, None)
