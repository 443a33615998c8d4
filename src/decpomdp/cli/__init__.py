"""Arguments in, words out. Heavy parts are imported inside commands: `--help` must stay quick."""
