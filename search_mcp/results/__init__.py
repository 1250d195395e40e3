"""Results that are longer than the limit of the user: shortened, kept in files, and read with `read_result`."""
