"""The pages of the desk. Each finds for this user, reads the form, calls one verb and answers."""
