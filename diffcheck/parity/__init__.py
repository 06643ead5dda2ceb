"""Run cases on every arm and executor and judge what comes back."""
