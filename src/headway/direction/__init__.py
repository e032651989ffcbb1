"""Directions on the sphere: the von Mises-Fisher family, the update rules, and the belief."""
