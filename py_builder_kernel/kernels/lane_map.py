"""Which elements of a row a lane holds (contract, section 3)."""

from __future__ import annotations

from dataclasses import dataclass

from py_builder_kernel.kernels.storage import Storage

LANES = 32


@dataclass(frozen=True, slots=True)
class LaneMap:
    """The lane map of one head_dim and storage type.

    A lane holds `elements` of a row in `chunks` vectors of `vec`; element i of lane l is dimension
    `(i / vec)·32·vec + l·vec + i mod vec`.
    """

    head_dim: int
    storage: Storage

    @property
    def elements(self) -> int:
        """Elements of a row in one lane: E."""
        return self.head_dim // LANES

    @property
    def vec(self) -> int:
        """Consecutive elements in one lane: one load of at most 16 bytes."""
        return min(self.elements, 16 // self.storage.size)

    @property
    def chunks(self) -> int:
        """Loads a lane issues for one row."""
        return self.elements // self.vec

    @property
    def words_per_load(self) -> int:
        """32-bit words of one load."""
        return self.vec * self.storage.size // 4

    def chunk_bytes(self, chunk: int) -> int:
        """Byte distance of a lane's vector `chunk` from its first one in a stored row."""
        return chunk * LANES * self.vec * self.storage.size

    def f32_bytes(self, element: int) -> int:
        """Byte distance of `element` from the lane's first one in an f32 row, where element is a multiple of 4."""
        return (element // self.vec * LANES * self.vec + element % self.vec) * 4

    @property
    def quads(self) -> int:
        """Groups of four elements in one lane: four consecutive dimensions each, as `vec` is a multiple of four."""
        return self.elements // 4

    @property
    def quad_stride(self) -> int:
        """Dimensions from a lane's quad to its next. One number, as a lane has one vector or quads as vectors."""
        if self.chunks != 1 and self.vec != 4:
            raise ValueError(f"head_dim = {self.head_dim}, storage = {self.storage.name}: quads not evenly spaced")
        return 4 if self.chunks == 1 else LANES * 4
