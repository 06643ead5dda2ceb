"""Which tile and policy is fastest on a GPU, and the tile table that follows from it."""
