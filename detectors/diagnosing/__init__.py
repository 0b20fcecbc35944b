"""From log files to the facts of a verdict, without a database: what `diagnose` stands on."""
