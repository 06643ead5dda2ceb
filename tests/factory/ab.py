"""Synthetic A/B receipts: valid, fresh and complete unless a test says otherwise.

`ab_content()` gives the receipt as JSON types for a test to alter, `sealed()` puts the right digest on it, and
`write_evidence()` writes it where `diffcheck decide` looks. The numbers are invented.
"""

from __future__ import annotations

import copy
import json
import math
import statistics
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from diffcheck import digest
from diffcheck.ab.rows import FLOOR_PLACES
from diffcheck.ab.run import SEED
from diffcheck.ab.sampler import WARM_UP
from diffcheck.ab.schedule import balanced_orders
from diffcheck.ab.stats import CONFIDENCE, CONTROL_CONFIDENCE, RESAMPLES, interval_of
from diffcheck.cases import Case
from diffcheck.experiment.load import LoadedExperiment, data_folder, load_experiment
from diffcheck.experiment.model import Experiment
from diffcheck.experiment.rows import ExperimentRow, experiment_rows
from diffcheck.receipts.ab.model import AbReceipt
from diffcheck.receipts.canonical import DIGEST_KEY, content_digest
from diffcheck.subjects.lock import Lock, read_lock
from diffcheck.subjects.tree import newest_target, tree_subjects
from diffcheck.timing.sets import count_sets

Content = dict[str, Any]
Change = Callable[[Content], None]
DEVICES = {"sm_89": ("NVIDIA GeForce RTX 4090", 128), "sm_121": ("NVIDIA GB10", 48), "sm_90": ("NVIDIA H200", 132)}
HOSTS = {"rtx4090": "sm_89", "gb10": "sm_121", "h200": "sm_90"}
REQUIRED = ("rtx4090", "gb10")
L2_BYTES = 50 * 1024 * 1024


@lru_cache(maxsize=256)
def _unit(blocks: int, confidence: float, seed: int) -> tuple[float, float]:
    """The interval, in logarithms, of blocks spread evenly from -1 to 1: it scales and shifts as they do."""
    made = interval_of(_spread(blocks), seed, confidence)
    return math.log(made.low), math.log(made.high)


def _spread(blocks: int) -> list[float]:
    return [2.0 * index / (blocks - 1) - 1.0 for index in range(blocks)]


def comparison(
    baseline_us: float,
    ratio: float,
    half_width: float = 0.003,
    blocks: int = 20,
    confidence: float = CONFIDENCE,
    *,
    seed: int = SEED,
) -> Content:
    """Blocks about a ratio, with the interval that follows from them, about `half_width` wide on either side.

    The seed is that of an experiment's first row, unless another is given.
    """
    low, high = _unit(blocks, confidence, seed) if blocks > 1 else (-1.0, 1.0)
    scale = half_width / max(-low, high)
    candidate = [baseline_us * ratio * math.exp(scale * at) for at in (_spread(blocks) if blocks > 1 else [0.0])]
    orders = islice(balanced_orders(np.random.default_rng(seed)), WARM_UP, None)
    reading = {"sm_mhz": 1980, "memory_mhz": 3201, "temperature_c": 41.0, "power_w": 412.5, "throttle": []}
    made = [
        {
            "replays": [{"side": side, "us": us if side == "candidate" else baseline_us} for side in sides],
            "readings": [dict(reading) for _ in range(5)],
            "dropped": None,
        }
        for us, sides in zip(candidate, orders, strict=False)
    ]
    return {
        "blocks": made,
        "dropped_blocks": 0,
        "baseline_us": baseline_us,
        "candidate_us": statistics.median(candidate),
        "ratio": {
            "estimate": ratio,
            "low": ratio * math.exp(scale * low),
            "high": ratio * math.exp(scale * high),
            "confidence": confidence,
            "resamples": RESAMPLES,
            "seed": seed,
        },
        "stop": "narrow",
    }


def check(name: str, a: str, b: str, words: int = 4096, *, holds: bool = True) -> Content:
    """One check with its metrics; a failing one has 7 words that differ."""
    equal = words if holds else words - 7
    equal = equal if name == "bits" else words // 7
    metrics = {
        "head": None,
        "words": words,
        "equal": equal,
        "bitwise_percent": 100.0 * equal / words,
        "max_ulp": 0 if holds and name == "bits" else 3,
        "mismatched": 0,
        "max_abs": 0.0 if name == "bits" and holds else 2e-7,
        "max_rel": 0.0 if name == "bits" and holds else 2e-7,
        "cosine": 1.0,
        "worst": None,
    }
    made: Content = {
        "name": name,
        "a": a,
        "b": b,
        "holds": holds,
        "reason": "made for a test",
        "compared": words,
        "ratio": None,
        "whole": None if name in {"memory", "executes"} else metrics,
        "worst_row": None,
    }
    if name in {"oracle", "naive"}:
        made["ratio"] = 0.25 if holds else 1.75
    return made


def parity(row: ExperimentRow, relation: str) -> list[Content]:
    """Every check that a row of that relation needs, all holding."""
    made: list[Content] = []
    words = row.baseline_case.num_q_heads * row.baseline_case.head_dim
    for arm in (row.baseline, row.candidate):
        bounded = arm.startswith("naive")
        made.append(check("memory", arm, "contract"))
        made.append(check("naive" if bounded else "oracle", arm, "oracle", words))
        made += [] if bounded else [check("bits", arm, "twin", words)]
    if relation == "bitwise":
        made.append(check("bits", row.candidate, row.baseline, words))
    return made


def own_us(host: str, name: str, microseconds: float) -> float:
    """A time that no other host, row or control has: samples that are equal are copied."""
    return microseconds * (1.0 + zlib.crc32(f"{host} {name}".encode()) / 2.0**42)


def retime(timed: Content, ratio: float, half_width: float = 0.003, blocks: int = 4) -> None:
    """Time a row or a control anew: its baseline, seed and confidence stay."""
    old = timed["timing"]
    kept = {name: old["ratio"][name] for name in ("confidence", "seed")}
    timed["timing"] = comparison(old["baseline_us"], ratio, half_width, blocks, **kept)


def floor(name: str, detail: str, microseconds: float) -> Content:
    """A floor of that median about: two samples at each of its places, within 0.1 %."""
    count = 2 * FLOOR_PLACES
    samples = [microseconds * (1.0 + 0.001 * (2 * at + 1 - count) / count) for at in range(count)]
    return {"name": name, "detail": detail, "samples_us": samples, "median_us": statistics.median(samples)}


def row_us(host: str, row: ExperimentRow, what: str = "") -> float:
    """The baseline's time of a row, or of what is timed beside it."""
    return own_us(host, f"{row.name}{what}", 2.0 + row.baseline_case.kv_bytes / 3.0e6)


@lru_cache(maxsize=1)
def _lock() -> Lock:
    return read_lock()


def plan_content(host: str, case: Case) -> Content:
    """The plan that a host's calls get; one that is not listed is an RTX 4090."""
    arch = HOSTS.get(host, "sm_89")
    profile, policy, tile, chunk = _lock().plan_of(case, arch, DEVICES[arch][1])
    return {
        "key": f"splitk/1|{profile}|{policy}|chunk={chunk}|{tile}v8",
        "profile": profile,
        "policy": policy,
        "chunk": chunk,
        "n_splits": -(-case.kv_len // chunk),
        "tile": tile,
    }


def row_content(
    host: str, row: ExperimentRow, relation: str, ratio: float = 0.99, blocks: int = 20, *, seed: int = SEED
) -> Content:
    """One timed row."""
    case = row.baseline_case
    microseconds = row_us(host, row)
    sets = count_sets(case.kv_bytes, L2_BYTES)
    calls = -(-100 // sets) * sets
    arm = {"entries": [f"partial_{case.storage}_g{case.group_size}", "reduce"], "calls": calls}
    modules = [digest.of_text(f"{name} {arm['entries']}") for name in (row.baseline, row.candidate)]
    return {
        "case": {
            "name": row.name,
            "num_q_heads": case.num_q_heads,
            "num_kv_heads": case.num_kv_heads,
            "head_dim": case.head_dim,
            "kv_len": case.kv_len,
            "storage": case.storage,
            "layout": case.layout,
            "generator": case.generator,
            "seed": case.seed,
        },
        "relation": relation,
        "status": "timed",
        "kv_bytes": case.kv_bytes,
        "buffer_sets": sets,
        "rotated_bytes": sets * case.kv_bytes,
        "baseline": {
            "arm": row.baseline,
            "ptx_sha256": modules[0],
            "plan": plan_content(host, row.baseline_case),
            **copy.deepcopy(arm),
        },
        "candidate": {
            "arm": row.candidate,
            "ptx_sha256": modules[1],
            "plan": plan_content(host, row.candidate_case),
            **copy.deepcopy(arm),
        },
        "parity": parity(row, relation),
        "timing": comparison(microseconds, ratio, blocks=blocks, seed=seed),
        "above_peak": False,
        "floors": [
            floor("empty", "two empty kernels", own_us(host, f"{row.name} empty", 1.5)),
            floor("read", "2 blocks an SM", 0.8 * microseconds),
        ],
        "peers": [
            {
                "name": "flashinfer",
                "version": None,
                "samples_us": [],
                "median_us": None,
                "ratio": None,
                "max_rel_error": None,
                "reason": "not installed",
            }
        ],
    }


def controls(
    host: str, short: ExperimentRow, long: ExperimentRow, seeds: Mapping[str, int], blocks: int = 20
) -> list[Content]:
    """An A/A on each of two rows and both planted slow-downs on the long one, passed; `seeds` are those of rows."""
    asked = ((long, 0.0, 1.0004), (long, 2.0, 1.0195), (long, 10.0, 1.098), (short, 0.0, 0.9998))
    return [control(host, row, percent, ratio, blocks, seed=seeds[row.name]) for row, percent, ratio in asked]


def control(host: str, row: ExperimentRow, percent: float, ratio: float, blocks: int = 20, *, seed: int) -> Content:
    """An A/A (0 %) or a planted slow-down on a row of that seed."""
    made = comparison(
        row_us(host, row, f" {percent}"),
        ratio,
        blocks=blocks,
        confidence=CONFIDENCE if percent else CONTROL_CONFIDENCE,
        seed=seed + (2 if percent else 1),
    )
    low, high = made["ratio"]["low"], made["ratio"]["high"]
    return {
        "kind": "planted" if percent else "a/a",
        "case": row.name,
        "kv_len": row.baseline_case.kv_len,
        "planted_percent": percent,
        "timing": made,
        "passed": low > 1 if percent else low <= 1 <= high,
    }


def small_experiment(**changes: Any) -> LoadedExperiment:
    """`promote-oxide` with two rows and few blocks, for tests that need many receipts."""
    loaded = load_experiment("promote-oxide")
    content = loaded.content.model_dump(mode="json", by_alias=True)
    rows = [{"generator": "random", "heads": [[16, 4]], "storages": ["f16"], "kv_lens": [4096, 60000]}]
    budget = {**content["budget"], "min_blocks": 4}
    made = Experiment.model_validate({**content, "rows": rows, "budget": budget, **changes})
    return LoadedExperiment(made, loaded.sha256)


def small_experiment_file(folder: Path) -> str:
    """Write `small_experiment()` as a file; return its path, which commands take in place of a name."""
    shipped = (data_folder() / "promote-oxide.toml").read_text(encoding="utf-8")
    head, _, _ = shipped.partition("# Every combination is a row.")
    rows = '[[rows]]\ngenerator = "random"\nheads = [[16, 4]]\nstorages = ["f16"]\nkv_lens = [4096, 60000]\n'
    budget = shipped[shipped.index("[budget]") :].replace("min_blocks = 20", "min_blocks = 4")
    path = folder / "promote-oxide.toml"
    path.write_text(head + rows + budget, encoding="utf-8")
    return str(path)


def ab_content(
    host: str = "rtx4090", experiment: str | LoadedExperiment = "promote-oxide", ratio: float = 0.99
) -> Content:
    """A whole receipt as JSON types, without its digest."""
    loaded = load_experiment(experiment) if isinstance(experiment, str) else experiment
    content = loaded.content
    rows = experiment_rows(content)
    arch = HOSTS.get(host, "sm_89")
    device, sms = DEVICES[arch]
    arms = list(dict.fromkeys(arm for row in rows for arm in (row.baseline, row.candidate)))
    subjects = tree_subjects(arms, newest_target(arch, _lock()))
    long = next((row for row in rows if row.baseline_case.kv_len >= 60_000), rows[-1])
    command = ["ab", content.name, "--host", host]
    blocks = content.budget.min_blocks
    seeds = {row.name: SEED + 10 * place for place, row in enumerate(rows)}
    return {
        "schema": "diffcheck-ab/1",
        "status": "complete",
        "tool": {
            "name": "diffcheck",
            "version": "0.1.0",
            "command": command,
            "source": {"origin": "repository", "commit": "a" * 40, "dirty": False, "dirty_paths": []},
        },
        "contract": "splitk/1",
        "experiment": {
            "name": content.name,
            "sha256": loaded.sha256,
            "content": content.model_dump(mode="json", by_alias=True),
        },
        "host": {
            "id": host,
            "machine": "aarch64" if arch == "sm_121" else "x86_64",
            "device": device,
            "arch": arch,
            "sms": sms,
            "uuid_sha256": digest.of_text(host),
            "l2_bytes": L2_BYTES,
            "memory_bytes": 24 * 1024**3,
            "driver": "580.1",
            "cuda_driver": "13.0",
            "cuda_runtime": "13.0",
            "cupy": "14.0",
            "peak_memory_bytes_per_second": 4.9e12,
        },
        "subjects": subjects.model_dump(mode="json"),
        "cuda_oxide_commit": "b" * 40,
        "ptxas": None,
        "gpu_users": {"before": [], "after": []},
        "selftest": {"status": "not run", "reason": "not asked for"},
        "rows": [row_content(host, row, content.relation, ratio, blocks, seed=seeds[row.name]) for row in rows],
        "controls": controls(host, min(rows, key=lambda row: row.baseline_case.kv_bytes), long, seeds, blocks),
        "parts": [{"rungs": None, "command": command, "resumed": False, "seconds": 400.0}],
        "warnings": [],
    }


def fail_parity(content: Content, row: int = 0) -> None:
    """Make a row one that failed parity: it has no times and no controls; a check of it must be made to fail."""
    failed = content["rows"][row]
    failed.update(status="fails parity", timing=None, above_peak=None, floors=[], peers=[])
    content["controls"] = [one for one in content["controls"] if one["case"] != failed["case"]["name"]]
    content["status"] = "fails"


def drop_row(content: Content, row: int = 0) -> None:
    """Leave out a row, with its controls."""
    dropped = content["rows"].pop(row)
    content["controls"] = [one for one in content["controls"] if one["case"] != dropped["case"]["name"]]
    content["status"] = "partial"


def replan(content: Content, row: int, **changes: Any) -> None:
    """Plan both arms of a row otherwise, its key included."""
    for side in ("baseline", "candidate"):
        plan = content["rows"][row][side]["plan"]
        plan.update(changes)
        plan["key"] = f"splitk/1|{plan['profile']}|{plan['policy']}|chunk={plan['chunk']}|{plan['tile']}v8"
        plan["n_splits"] = -(-content["rows"][row]["case"]["kv_len"] // plan["chunk"])


def sealed(content: Content) -> Content:
    """The same with the digest that belongs to it."""
    return {**content, DIGEST_KEY: content_digest(content)}


def ab_receipt(
    host: str = "rtx4090", experiment: str | LoadedExperiment = "promote-oxide", ratio: float = 0.99
) -> AbReceipt:
    """A whole receipt as its model."""
    return AbReceipt.model_validate(ab_content(host, experiment, ratio))


def write_evidence(folder: Path, contents: Iterable[Content], names: Sequence[str] | None = None) -> Path:
    """Write receipts as `<folder>/<experiment>/<host>.json` (or under other names), sealed; return the folder."""
    for index, content in enumerate(contents):
        name = names[index] if names else content["host"]["id"]
        path = folder / content["experiment"]["name"] / f"{name}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(content if DIGEST_KEY in content else sealed(content)), encoding="utf-8")
    return folder
