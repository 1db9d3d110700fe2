"""Every way a result is shown: figures, terminal tables and the HTML report."""
