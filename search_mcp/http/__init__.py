"""HTTP clients: certificates, proxies, redirects, limits, and failures in words."""
