"""Studies: real campaigns, asked and told, kept in a log."""
