"""Lists of releases: promises, sampling, composition."""
