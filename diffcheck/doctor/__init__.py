"""What this host has and lacks for each job, with the command that mends it.

To add a check, write a function that returns a `Finding` and put it into `diffcheck.doctor.run.CHECKS`.
"""
