"""What limits the partial kernel on a device that is not at hand: from machine code, published rates and bytes."""
