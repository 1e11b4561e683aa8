"""What a page of the desk shows to one person: reads only, nothing is decided here."""
