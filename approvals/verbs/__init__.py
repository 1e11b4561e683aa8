"""What people do, one file a deed, each one transaction: rights, a conditional change, its entry. Door: `reviewing`."""
