"""An A/B receipt as `apr-kernel-receipt/v1` with `rows`: oxide against builder, one geometry a file."""

from __future__ import annotations

from typing import Any

from diffcheck.errors import BadInputError
from diffcheck.receipts.ab.model import AbReceipt
from diffcheck.receipts.ab.rows import Row
from diffcheck.receipts.metrics import Check

FORMAT = "apr-kernel-receipt/v1"
# The shape has one input a length and storage: the usual one.
_GENERATOR = "random"


def export_rows(receipt: AbReceipt, heads: str | None = None) -> dict[str, Any]:
    """Return the content of the file. `heads` picks one geometry, such as `16/4`, of a receipt that has several.

    Raises `BadInputError` for arms that the format has no names for, for a receipt without a host, and for a geometry
    that is missing or not named.
    """
    arms = (receipt.experiment.content.arms.baseline, receipt.experiment.content.arms.candidate)
    if arms != ("builder", "oxide"):
        raise BadInputError("receipt, experiment.arms", " and ".join(arms), "builder and oxide, which the format names")
    if receipt.host.id is None:
        raise BadInputError("receipt, host.id", None, "a receipt of a run with --host")
    rows = [row for row in receipt.rows if row.case.generator == _GENERATOR]
    geometries = list(dict.fromkeys(_heads(row) for row in rows))
    if heads is None and len(geometries) != 1:
        raise BadInputError("heads", None, f"one of {', '.join(geometries)}, as a file has one geometry")
    chosen = [row for row in rows if _heads(row) == (heads or geometries[0])]
    if not chosen:
        raise BadInputError("heads", heads, ", ".join(geometries))
    made = [_row(row) for row in chosen]
    return {
        "schema": FORMAT,
        "kernel": "splitk_decode_attention",
        "authoring": "oxide",
        "host": receipt.host.id,
        "cc": _capability(receipt.host.arch),
        "cuda_oxide": receipt.cuda_oxide_commit or "",
        "geometry": f"{heads or geometries[0]}, head_dim {chosen[0].case.head_dim}",
        "timing": "CUDA graph replay, balanced random ABBA blocks, median a call, partial + reduce",
        "parity": "PASS" if all(row["parity"] == "PASS" for row in made) else "FAIL",
        "rows": made,
    }


def _row(row: Row) -> dict[str, Any]:
    oxide, builder = row.candidate.arm, row.baseline.arm
    f64 = _check(row, "oracle", oxide, "oracle")
    made: dict[str, Any] = {
        "kv": row.case.storage,
        "seq_len": row.case.kv_len,
        "chunk": row.candidate.plan.chunk,
        "n_splits": row.candidate.plan.n_splits,
        "oxide_vs_twin_rel_max": _rel(_check(row, "bits", oxide, "twin")),
        "oxide_vs_f64_rel_max": _rel(f64),
        "oxide_vs_f64_cos": f64.whole.cosine if f64 and f64.whole else None,
        "oxide_vs_builder_rel_max": _rel(_check(row, "bits", oxide, builder)),
    }
    if row.timing:
        made["oxide_us"] = row.timing.candidate_us
        made["builder_us"] = row.timing.baseline_us
        made["oxide_over_builder"] = row.timing.ratio.estimate
    made["parity"] = "PASS" if row.status == "timed" else "FAIL"
    return {name: value for name, value in made.items() if value is not None}


def _check(row: Row, name: str, a: str, b: str) -> Check | None:
    pairs = ((a, b), (b, a))
    return next((check for check in row.parity if check.name == name and (check.a, check.b) in pairs), None)


def _rel(check: Check | None) -> float | None:
    # JSON has no NaN: a number that is none is left out, and the row's parity says FAIL.
    value = check.whole.max_rel if check and check.whole else None
    return value if value is not None and abs(value) < float("inf") else None


def _heads(row: Row) -> str:
    return f"{row.case.num_q_heads}/{row.case.num_kv_heads}"


def _capability(arch: str) -> str:
    digits = arch.removeprefix("sm_")
    return f"{digits[:-1]}.{digits[-1]}"
