"""Headway's benchmarks: regret on known functions and speed; not shipped with the package."""
