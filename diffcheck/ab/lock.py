"""One A/B a GPU at a time: an exclusive `flock` on a file that other tools of the host can share.

The kernel of the operating system releases it with the process, however that ends; the file itself stays.
"""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from diffcheck.errors import BadInputError, MissingRequirementError

ENVIRONMENT = "DIFFCHECK_GPU_LOCK"


def lock_path(option: Path | None, device: str) -> Path:
    """Return the lock file: the option, the variable `DIFFCHECK_GPU_LOCK`, or one in the temporary folder.

    `device` tells the host's GPUs apart, such as a PCI address.
    """
    if option is not None:
        return option
    named = os.environ.get(ENVIRONMENT)
    if named:
        return Path(named)
    safe = "".join(c if c.isalnum() else "-" for c in device)
    return Path(tempfile.gettempdir()) / f"diffcheck-gpu-{safe}.lock"


@contextmanager
def gpu_lock(path: Path) -> Iterator[None]:
    """Hold the lock. Raises `MissingRequirementError` when someone else does, `BadInputError` for no usable file."""
    try:
        import fcntl
    except ImportError as error:
        raise MissingRequirementError("flock is not there on this system", "run the A/B on Linux") from error
    try:
        handle = _open(path)
    except OSError as error:
        raise BadInputError("lock", str(path), f"a file that can be opened ({error.strerror})") from error
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise BadInputError("lock", str(path), "a regular file")
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise MissingRequirementError(
                f"another run holds the GPU's lock {path.name}", "wait for it, or name another file with --lock"
            ) from error
        except OSError as error:
            raise BadInputError("lock", str(path), f"a file that can be locked ({error.strerror})") from error
        yield
    finally:
        os.close(handle)


def _open(path: Path) -> int:
    """Open the file, or make it. Any user of the host may take it, as it holds nothing.

    Reading is enough for that, but where the lock is on NFS. A file that another user made can often not be written,
    and in a folder such as /tmp not even be opened with a wish to make it.
    """
    flags = os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    try:
        return os.open(path, os.O_RDWR | flags)
    except FileNotFoundError:
        return os.open(path, os.O_RDWR | os.O_CREAT | flags, 0o644)
    except PermissionError:
        return os.open(path, os.O_RDONLY | flags)
