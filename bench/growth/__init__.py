"""`make bench-plots`: what each step costs against the size of what it works on, and the exponent of each curve."""
