"""scripts/setup.py: what it asks for, and when it has nothing to do. No test here installs or builds anything."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "setup.py"


@pytest.fixture
def setup(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The script over a small tree of its own."""
    spec = importlib.util.spec_from_file_location("setup_script", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for name in ("pyproject.toml", "Cargo.toml", "Cargo.lock", "rust_kernel/Cargo.toml", "crates/a/src/lib.rs"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(f"# {name}\n")
    (tmp_path / "Cargo.toml").write_text('rust-version = "1.88"\n')
    (tmp_path / "pyproject.toml").write_text('requires = ["maturin"]\n')
    for name, path in {
        "ROOT": tmp_path,
        "VENV": tmp_path / ".venv",
        "VENV_PYTHON": tmp_path / ".venv/bin/python",
        "STAMP": tmp_path / ".venv/setup-stamp.json",
        "NATIVE": tmp_path / "rust_kernel/_native.abi3.so",
    }.items():
        monkeypatch.setattr(module, name, path)
    monkeypatch.setattr(module, "require_rust", lambda: "rustc 1.88.0")
    monkeypatch.setattr(module, "cuda_extra", lambda: None)
    return module


class Steps:
    """Stands for the commands: notes them, and leaves what the last of them leaves."""

    def __init__(self, module: ModuleType) -> None:
        self.module = module
        self.run: list[str] = []
        self.fail_at = ""

    def __call__(self, message: str, *command: str | Path) -> None:
        self.run.append(message)
        if self.fail_at and message.startswith(self.fail_at):
            raise KeyboardInterrupt
        if message == "making .venv":
            self.module.VENV_PYTHON.parent.mkdir(parents=True, exist_ok=True)
            self.module.VENV_PYTHON.symlink_to(sys.executable)
        if "--editable" in command:
            self.module.NATIVE.touch()


@pytest.fixture
def steps(setup: ModuleType, monkeypatch: pytest.MonkeyPatch) -> Steps:
    noted = Steps(setup)
    monkeypatch.setattr(setup, "step", noted)
    return noted


def ran(steps: Steps, setup: ModuleType, *extras: str) -> list[str]:
    steps.run.clear()
    setup.setup(set(extras), force=False)
    return list(steps.run)


def test_a_second_run_has_nothing_to_do(setup: ModuleType, steps: Steps) -> None:
    assert ran(steps, setup, "test")[0] == "making .venv"
    assert ran(steps, setup, "test") == []
    assert ran(steps, setup) == [], "fewer extras than there are is nothing to do"


def test_changed_rust_is_built_without_asking_for_dependencies(setup: ModuleType, steps: Steps) -> None:
    ran(steps, setup)
    (setup.ROOT / "crates/a/src/lib.rs").write_text("// changed\n")
    assert [step.split(" (")[0] for step in ran(steps, setup)] == ["building the native module"]


@pytest.mark.parametrize("change", ["pyproject.toml", "extra", "native module gone"])
def test_other_changes_are_installed(setup: ModuleType, steps: Steps, change: str) -> None:
    ran(steps, setup)
    extras = ("test",) if change == "extra" else ()
    if change == "native module gone":
        setup.NATIVE.unlink()
    elif not extras:
        (setup.ROOT / change).write_text('requires = ["maturin"]\n# changed\n')
    assert ran(steps, setup, *extras) != []
    assert ran(steps, setup, *extras) == []


def test_an_interrupted_run_does_not_count(setup: ModuleType, steps: Steps) -> None:
    ran(steps, setup)
    (setup.ROOT / "crates/a/src/lib.rs").write_text("// changed\n")
    steps.fail_at = "building"
    with pytest.raises(KeyboardInterrupt):
        setup.setup(set(), force=False)
    assert not setup.STAMP.exists()
    steps.fail_at = ""
    assert ran(steps, setup) != []
    assert ran(steps, setup) == []


def test_a_damaged_stamp_is_no_stamp(setup: ModuleType, steps: Steps) -> None:
    ran(steps, setup)
    setup.STAMP.write_text('{"everything": ')
    assert ran(steps, setup) != []


def test_an_old_python_is_named(setup: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "version_info", (3, 9, 18))
    with pytest.raises(
        setup.SetupError, match=r"^needs Python >= 3.10; found 3.9.18 \(.*\): name a newer one"
    ) as raised:
        setup.require_python()
    assert raised.value.code == 2


def run_with_tools(folder: Path, **tools: str) -> subprocess.CompletedProcess[str]:
    """Runs the script where PATH has only the named tools, each a shell script."""
    shell = shutil.which("sh")
    assert shell is not None
    for name, body in tools.items():
        (folder / name).write_text(f"#!{shell}\n{body}\n")
        (folder / name).chmod(0o755)
    return subprocess.run(
        [sys.executable, str(SCRIPT)], capture_output=True, text=True, check=False, env={"PATH": str(folder)}
    )


@pytest.mark.parametrize(
    ("tools", "message"),
    [
        ({}, "setup: needs a C linker; found no `cc` on PATH: "),
        ({"cc": ""}, "setup: needs Rust >= 1.88 (cargo and rustc); found no `cargo` on PATH: "),
        (
            {"cc": "", "cargo": "echo cargo 1.70.0 '(ec8a8a0ca 2023-04-25)'"},
            "setup: needs Rust >= 1.88 (cargo and rustc); found cargo 1.70.0 (ec8a8a0ca 2023-04-25): run",
        ),
        (
            {"cc": "", "cargo": "echo cargo 1.99.0"},
            "setup: needs Rust >= 1.88 (cargo and rustc); found no `rustc` on PATH: ",
        ),
        (
            {"cc": "", "cargo": "echo error: no override and no default toolchain set >&2; exit 1"},
            "setup: needs Rust >= 1.88 (cargo and rustc); `cargo --version` failed (error: no override and no default",
        ),
    ],
)
def test_a_missing_tool_is_named_in_one_line(tmp_path: Path, tools: dict[str, str], message: str) -> None:
    run = run_with_tools(tmp_path, **tools)
    assert run.returncode == 2
    assert run.stdout == ""
    assert run.stderr.startswith(message)
    assert run.stderr.count("\n") == 1
