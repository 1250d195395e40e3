"""HTTP clients: certificates, proxies, redirects, limits, and the texts of failures."""
