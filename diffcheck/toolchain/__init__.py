"""Whether who assembles the PTX, and how hard it optimises, changes a bit on a device."""
