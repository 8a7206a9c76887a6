"""What follows from deliveries: claimed one repository at a time, done elsewhere, tried again, given up at last."""
