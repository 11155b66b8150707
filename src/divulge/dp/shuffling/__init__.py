"""What reports tell when somebody shuffles them: where a person hides, the losses that are left, the mechanism."""
