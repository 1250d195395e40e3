"""The aggregator that runs the servers, and what one client makes of them."""
