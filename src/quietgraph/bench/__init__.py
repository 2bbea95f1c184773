"""Stage 6, measure: datasets, noise, the protocol, sweeps; clean labels exist only here."""
