"""The verdict: may the candidate replace the baseline? From receipts, experiment, hosts, policy and the tree's hashes.

Nothing here opens a GPU or needs the native module.
"""
