; Findings about single Go tests. Names: `contexts` has the variables of type *testing.T.

((call_expression function: (selector_expression operand: (_) @context field: (_) @name) @callee) @RED208
  (#in? @context "contexts") (#any-of? @name "Skip" "Skipf" "SkipNow")
  (#set! message "can skip itself with `{callee}`"))
((call_expression function: (_) @callee) @RED208
  (#eq? @callee "testing.Short")
  (#set! message "is skipped in short runs"))
((range_clause right: (composite_literal body: (_) @body)) @RED209
  (#empty? @body)
  (#set! message "iterates over an empty list of examples"))
