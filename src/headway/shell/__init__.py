"""Studies that a command line runs: files, commands, storages, and workers that share a budget."""
