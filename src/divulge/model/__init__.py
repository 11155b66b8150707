"""What is released: priors, channels, joints and named mechanisms."""
