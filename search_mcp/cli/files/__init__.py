"""`config`, `add`, `remove`, `enable` and `disable`: the configuration file."""
