"""Studies: real campaigns that ask for measurements, are told values, and keep every event."""
