"""`semantic`: the sentence models of the search by meaning."""
