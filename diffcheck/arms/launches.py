"""The launches of the contract's kernels (docs/contract.md, section 8), for every arm that has them as PTX."""

from __future__ import annotations

from dataclasses import replace

from diffcheck.arms.base import Problem
from diffcheck.buffers import Placed
from diffcheck.executors.program import Address, Arg, Program, Step, Word
from diffcheck.executors.programmatic import waits
from diffcheck.generators import Inputs, Partials
from diffcheck.layouts import Outputs


def splitk_program(problem: Problem, ptx: str, partial_shared: int, reduce_shared: int) -> Program:
    """Return the program of a split-K decode: partial, then reduce; of a problem that only merges, reduce alone.

    Of a chain, both twice: the second partial kernel reads the first decode's result as its q, and overwrites the
    scratch that the reduce kernel before it reads.

    `ptx` holds the two kernels that the problem's plan names; the other two are their dynamic shared bytes. A kernel
    that has a `griddepcontrol.wait` is launched programmatically.
    """
    inputs, outputs = problem.inputs, problem.outputs
    if isinstance(inputs, Partials):
        reduce = _reduce_step(problem, inputs, outputs.out, ptx, reduce_shared)
        return Program(problem.name, ptx, inputs, outputs, (reduce,))
    steps: list[Step] = []
    q = inputs.q
    for result in outputs.results:
        steps.append(_partial_step(problem, replace(inputs, q=q), ptx, partial_shared))
        steps.append(_reduce_step(problem, outputs, result, ptx, reduce_shared))
        q = result
    return Program(problem.name, ptx, inputs, outputs, tuple(steps))


def _partial_step(problem: Problem, inputs: Inputs, ptx: str, shared: int) -> Step:
    plan = problem.plan
    return Step(
        entry=plan.partial_entry,
        grid=plan.partial_launch[0],
        block=plan.partial_launch[1],
        dynamic_shared=shared,
        args=(
            *_addresses(inputs),
            *_parts(problem.outputs),
            *(_u32(plan.kv_len), _u32(plan.chunk), _u32(plan.n_splits)),
            *_input_strides(inputs),
        ),
        programmatic=waits(ptx, plan.partial_entry),
    )


def _reduce_step(problem: Problem, parts: Outputs | Partials, out: Placed, ptx: str, shared: int) -> Step:
    plan = problem.plan
    return Step(
        entry=plan.reduce_entry,
        grid=plan.reduce_launch[0],
        block=plan.reduce_launch[1],
        dynamic_shared=shared,
        args=(*_parts(parts), Address(out), _u32(plan.n_splits), _out_stride(out)),
        programmatic=waits(ptx, plan.reduce_entry),
    )


def naive_program(problem: Problem, inputs: Inputs, ptx: str, entry: str, shared: int) -> Program:
    """Return the program of the naive decode of `inputs` (the problem's, or the same values widened), in one launch."""
    plan, outputs = problem.plan, problem.outputs
    step = Step(
        entry=entry,
        grid=plan.naive_launch[0],
        block=plan.naive_launch[1],
        dynamic_shared=shared,
        args=(
            *_addresses(inputs),
            Address(outputs.out),
            *(_u32(plan.kv_len), _u32(plan.group_size)),
            *_input_strides(inputs),
            _out_stride(outputs.out),
        ),
        programmatic=waits(ptx, entry),
    )
    return Program(problem.name, ptx, inputs, outputs, (step,))


def _parts(parts: Outputs | Partials) -> tuple[Arg, ...]:
    return (Address(parts.part_m), Address(parts.part_s), Address(parts.part_acc))


def _addresses(inputs: Inputs) -> tuple[Arg, ...]:
    return (Address(inputs.q), Address(inputs.k), Address(inputs.v))


def _input_strides(inputs: Inputs) -> tuple[Arg, ...]:
    return (
        _u64(inputs.q.strides[0]),
        *(_u64(array.strides[axis]) for array in (inputs.k, inputs.v) for axis in (0, 1)),
    )


def _out_stride(out: Placed) -> Arg:
    return _u64(out.strides[0])


def _u32(value: int) -> Word:
    return Word("u32", value)


def _u64(value: int) -> Word:
    return Word("u64", value)
