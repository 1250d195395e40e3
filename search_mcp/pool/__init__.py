"""Which clients use which server: the servers of a process, and each client's use of them."""
