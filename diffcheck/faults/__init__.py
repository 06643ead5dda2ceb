"""Faults that others shipped in code like this, each with what here would have caught it.

To add one, add a `Fault` to a list in `diffcheck.faults.rows` and its reports to `diffcheck.faults.reports`. Its cases
join the suite `faults` by being named there.
"""

from diffcheck.faults.model import Fault, Status, Topic
from diffcheck.faults.registry import all_faults, fault_cases

__all__ = ["Fault", "Status", "Topic", "all_faults", "fault_cases"]
