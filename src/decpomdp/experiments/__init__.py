"""Tables of many runs, resumable: the user's own (`benchmark`) and every table and figure of the paper."""
