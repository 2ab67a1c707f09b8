"""Rules about programs and traces, and what they find."""
