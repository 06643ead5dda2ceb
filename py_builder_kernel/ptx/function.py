"""One kernel under construction: its parameters, registers, shared variables and lines."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from py_builder_kernel.ptx.check import Mismatch, check_operands
from py_builder_kernel.ptx.dtype import DTYPES, PRED, DType
from py_builder_kernel.ptx.errors import PtxBuildError
from py_builder_kernel.ptx.instructions import Comment, Instruction, LabelLine, Line
from py_builder_kernel.ptx.operands import Joined, Label, Operand, Param, Pred, Reg, Symbol
from py_builder_kernel.ptx.table import Bound, bind
from py_builder_kernel.ptx.target import NEWEST_PTX, PtxVersion, Target, version_text


class Function:
    """Collects a kernel's lines, each instruction checked against the opcode table for `target` as it is added.

    `newest` caps the PTX version that a form may need. `max_threads` is the block size (`.maxntid`) and `min_blocks`
    the blocks that one multiprocessor must be able to hold (`.minnctapersm`): together they bound the registers.
    `max_registers` (`.maxnreg`) bounds those of a thread further.
    """

    def __init__(
        self,
        name: str,
        target: Target,
        *,
        max_threads: int,
        min_blocks: int = 1,
        max_registers: int | None = None,
        newest: PtxVersion = NEWEST_PTX,
    ) -> None:
        self.name = name
        self.target = target
        self.max_threads = max_threads
        self.min_blocks = min_blocks
        self.max_registers = max_registers
        self.params: list[Param] = []
        self.shared: list[Symbol] = []
        self.lines: list[Line] = []
        self.needed_ptx = target.ptx
        self.register_counts: dict[tuple[str, str], int] = {}
        self._newest = newest
        self._labels: dict[str, int] = {}
        self._placed: set[Label] = set()
        self._targets: set[Label] = set()

    # --- declarations

    def param(self, name: str, dtype: DType) -> Param:
        """Declare the next kernel parameter."""
        if any(p.name == name for p in self.params):
            raise PtxBuildError(f"parameter {name!r} is declared twice in {self.name}")
        param = Param(name, dtype)
        self.params.append(param)
        return param

    def shared_array(self, name: str, size: int, *, align: int = 16) -> Symbol:
        """Declare `size` bytes of static shared memory."""
        if any(s.name == name for s in self.shared):
            raise PtxBuildError(f"shared variable {name!r} is declared twice in {self.name}")
        if size <= 0 or align not in (1, 2, 4, 8, 16):
            raise PtxBuildError(f"shared {name!r}: size {size}, align {align}, allowed: size > 0, align 1, 2, 4, 8, 16")
        symbol = Symbol(name, "shared", align, size)
        self.shared.append(symbol)
        return symbol

    def reg(self, dtype: DType) -> Reg:
        """A fresh register."""
        key = dtype.register_class
        self.register_counts[key] = self.register_counts.get(key, 0) + 1
        return Reg(dtype, self.register_counts[key])

    def regs(self, dtype: DType, count: int) -> list[Reg]:
        """`count` fresh registers."""
        return [self.reg(dtype) for _ in range(count)]

    # --- lines

    def emit(self, mnemonic: str, *operands: Operand, guard: Pred | Reg | None = None) -> None:
        """Add an instruction; raises PtxBuildError, which names the caller's line, when the table does not allow it."""
        forms = bind(mnemonic)
        bound = self._checked(forms, operands)
        self._require(bound)
        self._targets.update(operand for operand in operands if isinstance(operand, Label))
        self.lines.append(Instruction(mnemonic, operands, self._guard(guard)))

    def new(self, mnemonic: str, *sources: Operand, guard: Pred | Reg | None = None) -> Reg:
        """Add an instruction that writes a fresh register of the form's own type, and return that register."""
        result = self.reg(self._destination(mnemonic))
        self.emit(mnemonic, result, *sources, guard=guard)
        return result

    def new_joined(self, mnemonic: str, *sources: Operand) -> tuple[Reg, Reg]:
        """As `new`, for a form that also writes a predicate: `d|p`."""
        result, pred = self.reg(self._destination(mnemonic)), self.reg(PRED)
        self.emit(mnemonic, Joined(result, pred), *sources)
        return result, pred

    def label(self, name: str) -> Label:
        """A new label, `name` with a number when the name was taken; `place` puts it into the code."""
        self._labels[name] = self._labels.get(name, 0) + 1
        count = self._labels[name]
        return Label(name if count == 1 else f"{name}_{count}")

    def place(self, label: Label) -> None:
        """Put a label here."""
        if label in self._placed:
            raise PtxBuildError(f"label {label} is placed twice in {self.name}")
        self._placed.add(label)
        self.lines.append(LabelLine(label))

    def comment(self, text: str) -> None:
        """Add a comment line."""
        if not text.isprintable():
            raise PtxBuildError(f"comment {text!r}, allowed: one line of printable text")
        self.lines.append(Comment(text))

    def phase(self, name: str) -> None:
        """Mark the start of a phase of the algorithm."""
        self.comment(f"phase: {name}")

    @contextmanager
    def skipped_if(self, condition: Pred | Reg | None, name: str, *, uniform: bool = False) -> Iterator[None]:
        """Lines inside are jumped over where `condition` holds, None: never; `uniform` promises that a warp agrees."""
        if condition is None:
            yield
            return
        end = self.label(name)
        self.emit("bra.uni" if uniform else "bra", end, guard=condition)
        yield
        self.place(end)

    def finish(self) -> None:
        """Check what only the whole function can show; raises PtxBuildError for a branch to a label that is nowhere."""
        lost = sorted(label.name for label in self._targets - self._placed)
        if lost:
            raise PtxBuildError(f"{self.name}: branch to {', '.join(lost)}, placed: none")

    # --- checks

    def _destination(self, mnemonic: str) -> DType:
        bound = bind(mnemonic)[0]
        word = bound.form.operands[0] if bound.form.operands else ""
        if word == "pout":
            return PRED
        if not word.startswith("out"):
            raise PtxBuildError(f"{mnemonic}: has no destination register, use emit")
        dtype = bound.dtype(word)
        return DTYPES[f"{dtype.kind}16"] if dtype.bits == 8 else dtype

    def _checked(self, forms: tuple[Bound, ...], operands: tuple[Operand, ...]) -> Bound:
        mismatches: list[Mismatch] = []
        for bound in forms:
            mismatch = check_operands(bound, operands)
            if mismatch is None:
                return bound
            mismatches.append(mismatch)
        closest = max(mismatches, key=lambda m: m.position)
        raise PtxBuildError(f"{forms[0].mnemonic}: {closest.message}")

    def _require(self, bound: Bound) -> None:
        ptx, sm = bound.requirements()
        if sm > self.target.sm:
            raise PtxBuildError(f"{bound.mnemonic}: needs sm_{sm} or later, the target is {self.target.name}")
        if ptx > self._newest:
            have, need = version_text(self._newest), version_text(ptx)
            raise PtxBuildError(f"{bound.mnemonic}: needs PTX {need}, allowed: up to {have}")
        self.needed_ptx = max(self.needed_ptx, ptx)

    def _guard(self, guard: Pred | Reg | None) -> Pred | None:
        if guard is None or isinstance(guard, Pred):
            return guard
        if guard.dtype != PRED:
            raise PtxBuildError(f"guard is {guard.dtype} register {guard}, allowed: a predicate register")
        return Pred(guard)
