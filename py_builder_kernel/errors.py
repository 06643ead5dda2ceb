"""What a launch can refuse, each with one line that names the field, its value and what is allowed."""

from __future__ import annotations


class ArgumentValueError(ValueError):
    """An argument of the right type whose value is not allowed: shape, stride, alignment, device, range."""

    def __init__(self, field: str, value: object, allowed: str) -> None:
        super().__init__(f"{field} is {value}; allowed: {allowed}")


class ArgumentTypeError(TypeError):
    """An argument of a type that is not allowed: not an array of device memory, a wrong dtype, not a whole number."""

    def __init__(self, field: str, value: object, allowed: str) -> None:
        super().__init__(f"{field} is {value}; allowed: {allowed}")


class DeviceUnavailableError(RuntimeError):
    """There is no CuPy, no driver or no device that the kernels run on; the one line says which."""
