"""What is wrong: anomalies and verdicts, from log lines and scheduler states."""
