"""Orders between mechanisms: who is safer against whom, decided by programs or by descent."""
