"""Where the Rust kernel's sources and its PTX are."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, lru_cache
from importlib import resources
from pathlib import Path

from diffcheck import digest
from diffcheck.errors import MissingRequirementError
from diffcheck.oxide.ptx_text import ModuleText, parse_module

PACKAGE = "rust_kernel"
PTX_FOLDER = "ptx"
CRATE_FOLDER = "kernel"
MANIFEST = "manifest.json"


@dataclass(frozen=True)
class OxideFiles:
    """The two folders: `crate` with the kernels' sources, `ptx` with one file an architecture and the manifest.

    An installed wheel has no sources; a source tree has both.
    """

    crate: Path
    ptx: Path

    @property
    def manifest(self) -> Path:
        """The manifest's path."""
        return self.ptx / MANIFEST

    def ptx_file(self, target: str) -> Path:
        """The path of the PTX for a target (`sm_90`)."""
        return self.ptx / f"{target}.ptx"

    def ptx_files(self) -> list[Path]:
        """Every file with PTX that is there, in the order of the architectures."""
        return sorted(self.ptx.glob("*.ptx"), key=lambda path: (len(path.stem), path.stem))

    def targets(self) -> tuple[str, ...]:
        """The targets that have a file."""
        return tuple(path.stem for path in self.ptx_files())

    def source_files(self) -> list[Path]:
        """Every file that goes into the PTX: manifest, lock and sources of the crate; a stray source counts too."""
        fixed = [self.crate / "Cargo.toml", self.crate / "Cargo.lock"]
        sources = sorted(path for path in (self.crate / "src").rglob("*") if path.is_file())
        extra = [self.crate / name for name in ("build.rs", ".cargo/config.toml")]
        return [path for path in (*fixed, *extra, *sources) if path.is_file()]

    def source_hashes(self) -> dict[str, str]:
        """SHA-256 (hex) of every source file, by its path inside the crate."""
        return {path.relative_to(self.crate).as_posix(): digest.of_file(path) for path in self.source_files()}


@cache
def installed_files() -> OxideFiles:
    """Return the folders of the installed package rust_kernel."""
    root = Path(str(resources.files(PACKAGE)))
    return OxideFiles(root / CRATE_FOLDER, root / PTX_FOLDER)


@lru_cache(maxsize=8)
def installed_module(target: str) -> ModuleText:
    """Return the PTX that belongs to a target: its own file or, without one, that of the nearest older architecture.

    Raises `MissingRequirementError` when there is none.
    """
    files = installed_files()
    return parse_module(files.ptx_file(file_target(target, files.targets())).read_text(encoding="utf-8"), target)


def file_target(target: str, have: tuple[str, ...]) -> str:
    """Return which of the targets that have a file serves `target`: itself, or the nearest older one.

    PTX for an architecture runs on every later one. Raises `MissingRequirementError` when all are newer.
    """
    arch = _arch(target)
    older = [name for name in have if _arch(name) <= arch]
    if not older:
        raise MissingRequirementError(
            f"rust_kernel has no PTX that {target} could run ({', '.join(have) or 'no file at all'})",
            "build it with: diffcheck oxide build",
        )
    return max(older, key=_arch)


def _arch(target: str) -> int:
    return int(target.removeprefix("sm_"))
