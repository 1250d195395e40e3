"""The page for people: what runs, what waits for a decision, who called what."""
