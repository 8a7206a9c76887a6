; Findings about single Rust tests.

((for_expression value: (_) @value) @RED209
  (#tokens? @value "^(& |vec ! )?\\[ \\]$")
  (#set! message "iterates over an empty list of examples"))
