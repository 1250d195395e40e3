"""The page for people, in a real browser and by requests that no browser sends."""
