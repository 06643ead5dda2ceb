"""A PTX module: functions of one target, and their text."""

from __future__ import annotations

from py_builder_kernel.ptx.errors import PtxBuildError
from py_builder_kernel.ptx.function import Function
from py_builder_kernel.ptx.instructions import line_text
from py_builder_kernel.ptx.operands import Symbol
from py_builder_kernel.ptx.target import NEWEST_PTX, PtxVersion, Target, version_text


class Module:
    """Functions that are assembled together.

    The text states the lowest PTX version that knows the target and every form used. `newest` refuses forms of later
    versions; it may not be above the one that driver 580 reads.
    """

    def __init__(self, target: Target, *, header: tuple[str, ...] = (), newest: PtxVersion = NEWEST_PTX) -> None:
        if not target.ptx <= newest <= NEWEST_PTX:
            allowed = f"{version_text(target.ptx)} to {version_text(NEWEST_PTX)}"
            raise PtxBuildError(f"PTX version is {version_text(newest)}; allowed for {target.name}: {allowed}")
        self.target = target
        self.functions: list[Function] = []
        self._header = header
        self._newest = newest
        self._dynamic: Symbol | None = None

    def function(
        self, name: str, *, max_threads: int, min_blocks: int = 1, max_registers: int | None = None
    ) -> Function:
        """Start an entry function."""
        if any(f.name == name for f in self.functions):
            raise PtxBuildError(f"entry {name!r} is defined twice")
        function = Function(
            name,
            self.target,
            max_threads=max_threads,
            min_blocks=min_blocks,
            max_registers=max_registers,
            newest=self._newest,
        )
        self.functions.append(function)
        return function

    def dynamic_shared(self) -> Symbol:
        """The module's shared memory whose size the launch gives: 16-byte aligned, the same for every entry."""
        self._dynamic = self._dynamic or Symbol("dynamic_shared", "shared", 16, None)
        return self._dynamic

    @property
    def version(self) -> PtxVersion:
        """The PTX version that the text states."""
        return max([self.target.ptx, *(f.needed_ptx for f in self.functions)])

    def text(self) -> str:
        """The module's text; the same calls give the same bytes."""
        parts = [f"// {line}" for line in self._header]
        parts += [f".version {version_text(self.version)}", f".target {self.target.name}", ".address_size 64", ""]
        if self._dynamic is not None:
            parts += [f".extern .shared .align {self._dynamic.align} .b8 {self._dynamic.name}[];", ""]
        for function in self.functions:
            parts += [*_function_lines(function), ""]
        return "\n".join(parts)


def _function_lines(function: Function) -> list[str]:
    function.finish()
    params = ",\n".join(f"    .param .{p.dtype} {p.name}" for p in function.params)
    registers = [
        f"    .reg .{declared} {prefix}<{count + 1}>;"
        for (prefix, declared), count in sorted(function.register_counts.items())
    ]
    shared = [f"    .shared .align {s.align} .b8 {s.name}[{s.size}];" for s in function.shared]
    return [
        f".visible .entry {function.name}(",
        *([params] if params else []),
        ")",
        f".maxntid {function.max_threads}, 1, 1",
        f".minnctapersm {function.min_blocks}",
        *([] if function.max_registers is None else [f".maxnreg {function.max_registers}"]),
        "{",
        *registers,
        *shared,
        *(line_text(line) for line in function.lines),
        "}",
    ]
