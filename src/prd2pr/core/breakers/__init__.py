"""Circuit breakers: trouble that would come again at once is not paid for again. Pure; the time is passed in."""
