"""The AI clients' config files: where they are, how they are written, and what their entries mean here."""
