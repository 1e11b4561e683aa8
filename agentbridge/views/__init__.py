"""Pages about agents, their runs and what is owed to them; and what machines ask about this process."""
