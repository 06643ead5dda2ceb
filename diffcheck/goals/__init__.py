"""Speed goals: what a device's receipts are held against. The goals are data, in `experiments/goals`.

To add a goal, add a table to its file. To add a kind of goal, add a model to `model.py` and a function to `judge.py`.
"""
