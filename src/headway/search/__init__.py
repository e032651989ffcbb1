"""Where points come from: space-filling designs, and the argmax of a score."""
