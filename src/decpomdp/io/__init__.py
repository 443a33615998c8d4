"""Files: `.dpomdp` models, recorded episodes, teams, run folders and checkpoints. Everything read is checked."""
