"""The hashes that make a receipt fresh or stale.

A few of them take the native module, which a place that only decides has not. They stand in `lock.json`, together with
the hashes of the sources that they follow from: a lock whose sources have moved on is found without the native module,
and `diffcheck subjects --update` renews it.
"""
