"""`import`, `install` and `uninstall`: the files of AI clients."""
