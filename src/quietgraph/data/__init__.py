"""What a method learns from: graph, labels and splits, read from any source; and noise that is added to them."""
