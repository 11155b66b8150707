"""The variants of differential privacy, each the worst over ordered pairs."""
