; Roles of nodes in Rust files, for the shared modules of languages/syntax.

; --- code metrics
[(if_expression) (for_expression) (while_expression) (loop_expression) (match_arm) (try_expression) "&&" "||"] @branch

; --- mutants, outside macros, whose arguments are bare tokens, and outside types and patterns, where no expression is allowed
((binary_expression operator: _ @mutant) @whole (#not-contains? @whole "string_literal" "raw_string_literal"))
((compound_assignment_expr operator: _ @mutant) @whole (#not-contains? @whole "string_literal" "raw_string_literal"))
((integer_literal) @mutant
  (#not-inside? @mutant "array_type" "type_arguments" "match_pattern" "range_pattern" "field_expression" "token_tree"
                "until" "block" "function_item")
  (#set! with "({mutant} ^ 1)"))
((boolean_literal) @mutant
  (#not-inside? @mutant "array_type" "type_arguments" "match_pattern" "range_pattern" "field_expression" "token_tree"
                "until" "block" "function_item"))
((unary_expression "!" (_) @operand) @mutant (#set! with "({operand})"))

; --- values that source and tests may share
[(integer_literal) (float_literal) (string_literal) (raw_string_literal)] @literal
(tuple_expression) @row

; --- places in the source that map one literal to another: single values such as `25` or `25 | 26`; a range is a rule
(match_arm
  pattern: (match_pattern [
    [(integer_literal) (float_literal) (string_literal) (raw_string_literal)] @answer.given
    (or_pattern [(integer_literal) (float_literal) (string_literal) (raw_string_literal)] @answer.given)
    (or_pattern (or_pattern [(integer_literal) (float_literal) (string_literal) (raw_string_literal)] @answer.given))])
  value: [(integer_literal) (float_literal) (string_literal) (raw_string_literal)] @answer.value) @answer
(if_expression
  condition: (binary_expression
    operator: "==" [(integer_literal) (float_literal) (string_literal) (raw_string_literal)] @answer.given)
  consequence: (block [
    [(integer_literal) (float_literal) (string_literal) (raw_string_literal)] @answer.value
    (return_expression [(integer_literal) (float_literal) (string_literal) (raw_string_literal)] @answer.value)
    (expression_statement
      (return_expression [(integer_literal) (float_literal) (string_literal) (raw_string_literal)] @answer.value))] .)
  ) @answer
(tuple_expression
  . [(integer_literal) (float_literal) (string_literal) (raw_string_literal)] @answer.given
  . [(integer_literal) (float_literal) (string_literal) (raw_string_literal)] @answer.value .) @answer

; --- names: what a file declares, and what is bound to which value
(function_item name: (_) @declared)
(struct_item name: (_) @declared)
(enum_item name: (_) @declared)
(mod_item name: (_) @declared)
(const_item name: (_) @declared)
(static_item name: (_) @declared)
(type_item name: (_) @declared)
(let_declaration pattern: (_) @declared)
(parameter pattern: (_) @declared)
(for_expression pattern: (_) @declared)
(let_condition pattern: (_) @declared)
[(closure_parameters) (match_pattern)] @declared.variables

(let_declaration pattern: (_) @binding.name value: (_) @binding.value)
(for_expression pattern: (_) @binding.name value: (_) @binding.value)
(let_condition pattern: (_) @binding.name value: (_) @binding.value)
(const_item name: (_) @binding.name value: (_) @binding.value)
(static_item name: (_) @binding.name value: (_) @binding.value)
(function_item name: (_) @binding.name body: (_) @binding.value)
(assignment_expression left: (_) @binding.name right: (_) @binding.value)
(match_expression
  value: (_) @binding.value body: (match_block (match_arm pattern: (match_pattern) @binding.name)))

; --- uses of names
[(call_expression) (macro_invocation) (field_expression) (scoped_identifier)] @use @use.head

; --- expected values in tests: variables, and the last cells of rows
(let_declaration
  pattern: (_) @wanted
  value: [(integer_literal) (float_literal) (string_literal) (raw_string_literal) (char_literal) (boolean_literal)] @wanted.value)
((tuple_expression
  [(integer_literal) (float_literal) (string_literal) (raw_string_literal) (char_literal) (boolean_literal)] @cell .)
  (#iterated? @cell))
