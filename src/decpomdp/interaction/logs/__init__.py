"""Learning from logged episodes when no method is named: run all applicable methods and choose one of their teams."""
