"""What is released: priors, channels, joints and named mechanisms."""

from divulge.model import mechanisms as mechanisms
