"""Methods of others that users would pick, as models of dyads, with the grids that they are tuned on."""
