; Findings about single JavaScript tests.

((call_expression function: (_) @callee) @RED208
  (#match? @callee "(?s)^(t|ctx|context|this)\\b.*\\.(skip|todo)$")
  (#set! message "can skip itself with `{callee}()`"))
