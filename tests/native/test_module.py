"""The native module as a whole: what it needs to be imported, and how it is built."""

from __future__ import annotations

import subprocess
import sys
from importlib import metadata
from pathlib import Path

import numpy as np
import pytest

from rust_kernel import _native, decode, plan, ptx, twin


def test_module_is_built_for_the_stable_abi() -> None:
    assert _native.__file__ is not None
    assert Path(_native.__file__).suffixes[-2:] == [".abi3", ".so"]


def test_distribution_is_tagged_for_every_python_from_3_10() -> None:
    wheel = metadata.distribution("splitk-diffcheck").read_text("WHEEL")
    assert wheel is not None
    tags = [line.removeprefix("Tag: ") for line in wheel.splitlines() if line.startswith("Tag: ")]
    assert tags
    assert all(tag.startswith("cp310-abi3-") for tag in tags)


def test_import_needs_no_gpu_library() -> None:
    code = (
        "import sys\n"
        "for name in ('cupy', 'torch', 'cuda'):\n"
        "    sys.modules[name] = None\n"
        "import diffcheck, py_builder_kernel\n"
        "import rust_kernel.decode, rust_kernel.plan, rust_kernel.ptx, rust_kernel.twin\n"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr


@pytest.mark.parametrize("module", [plan, twin, ptx, decode])
def test_modules_export_what_they_list(module: object) -> None:
    names = getattr(module, "__all__")  # noqa: B009 (a module is no type that has it)
    assert names == sorted(names, key=lambda name: (not name.isupper(), not name[0].isupper(), name))
    assert all(hasattr(module, name) for name in names)


def test_everything_native_is_exported_by_one_module() -> None:
    exported = [name for module in (plan, twin, ptx, decode) for name in module.__all__]
    assert sorted(exported) == sorted(_native.__all__)


def test_every_function_and_class_is_documented() -> None:
    named = {name: getattr(_native, name) for name in _native.__all__}
    assert [name for name, value in named.items() if not isinstance(value, str) and not value.__doc__] == []


def test_digests_are_of_sha256() -> None:
    assert len(bytes.fromhex(twin.source_sha256())) == 32
    version, _, digest = ptx.machine_version().partition("+")
    assert version == metadata.version("splitk-diffcheck")
    assert len(bytes.fromhex(digest)) == 4


def test_digest_of_the_twin_is_that_of_the_tree() -> None:
    import hashlib

    root = Path(__file__).resolve().parents[2]
    parts = [root / "crates" / crate / name for crate in ("cpu_twin", "splitk_plan") for name in ("Cargo.toml", "src")]
    files = [file for part in parts for file in ([part] if part.is_file() else part.rglob("*")) if file.is_file()]
    digest = hashlib.sha256()
    for file in sorted(files, key=lambda file: file.relative_to(root).as_posix().encode()):
        content = file.read_bytes()
        digest.update(f"{file.relative_to(root).as_posix()}\0{len(content)}\0".encode() + content)
    assert twin.source_sha256() == digest.hexdigest(), "the native module is older than its sources: run `make setup`"


def test_exceptions_say_where_they_live() -> None:
    assert issubclass(plan.PlanError, ValueError)
    assert issubclass(ptx.PtxError, ValueError)
    assert issubclass(ptx.PtxFault, RuntimeError)
    assert {error.__module__ for error in (plan.PlanError,)} == {"rust_kernel.plan"}
    assert {error.__module__ for error in (ptx.PtxError, ptx.PtxFault)} == {"rust_kernel.ptx"}


def test_exceptions_have_their_attributes_before_they_are_raised() -> None:
    assert plan.PlanError.field == ""
    assert ptx.PtxError.nearest is None
    assert ptx.PtxFault.lane is None


def test_numpy_2_is_what_the_module_was_built_against() -> None:
    assert int(np.__version__.split(".")[0]) >= 2
