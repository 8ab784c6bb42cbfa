"""The verifier of certificates: it shares no code with the decider or the synthesis."""
