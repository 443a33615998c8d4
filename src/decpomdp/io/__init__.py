"""Bytes to nouns and back: `.dpomdp` models, episodes, teams. What is read is checked before it is believed."""
