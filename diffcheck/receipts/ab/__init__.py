"""The receipt of an A/B run: `diffcheck-ab/1`. Read and checked without a GPU and without the native module."""
