"""Text that is not ours: made visible, compared, and hidden where it is a secret. Shown, never believed."""
