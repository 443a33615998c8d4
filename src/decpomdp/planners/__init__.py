"""Model -> team with a value: PBVI, EM, periodic EM and FB-HSVI."""
