"""What ptxas makes of every kernel on every target: the evidence tier `assembled`."""
